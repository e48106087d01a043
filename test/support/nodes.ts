/** Nodes as real processes, for what only a process can suffer: kill -9, SIGSTOP, a blocked main thread. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineSettings } from '@carillon/server'
import type { NodeProcessMessage, NodeProcessOptions } from './node-process.ts'

export interface NodeProcess {
  child: ChildProcess
  /** The runs that began in it, of one execution if given: fence and attempt. */
  runs(executionId?: string): Promise<{ fence: number; attempt: number }[]>
  send(message: NodeProcessMessage): void
  /** Ends it with the signal and waits until it is gone. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

export interface Nodes {
  launch(name: string, settings: EngineSettings): Promise<NodeProcess>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openNodes(databaseUrl: string): Promise<Nodes> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-nodes-'))
  const nodes: NodeProcess[] = []
  return {
    async launch(name, settings) {
      const options: NodeProcessOptions = {
        databaseUrl,
        runsFile: join(folder, `${name}.runs`),
        settings: { ...settings, nodeName: name },
      }
      const child = fork(new URL('./node-process.ts', import.meta.url), [JSON.stringify(options)], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        execArgv: [],
      })
      const node = nodeProcess(child, options.runsFile)
      nodes.push(node)
      await new Promise<void>((resolve, reject) => {
        child.once('message', () => resolve())
        child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
      })
      return node
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node.end('SIGKILL')))
      await rm(folder, { recursive: true })
    },
  }
}

function nodeProcess(child: ChildProcess, runsFile: string): NodeProcess {
  return {
    child,
    async runs(executionId) {
      const lines = (await readFile(runsFile, 'utf8')).split('\n').map((line) => line.split(' '))
      return lines
        .filter(([id]) => id && (!executionId || id === executionId))
        .map(([, fence, attempt]) => ({ fence: Number(fence), attempt: Number(attempt) }))
    },
    send: (message) => void child.send(message),
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGCONT')
      child.kill(signal)
      await gone
    },
  }
}
