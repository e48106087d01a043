/** Nodes and remote workers as processes, and what their runs were. All end with the object. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineSettings } from '@carillon/server'
import type { HttpNodeProcessOptions, HttpNodeProcessWord } from './http-node-process.ts'
import type { RemoteWorkerProcessOptions } from './remote-worker-process.ts'

export interface Run {
  what: 'began' | 'ended'
  executionId: string
  fence: number
  /** By the installation's clock. */
  at: number
}

export interface NodeProcess extends HttpNodeProcessWord {
  child: ChildProcess
}

export class Processes {
  readonly #folder: string
  readonly #children: ChildProcess[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  static async open(): Promise<Processes> {
    return new Processes(await mkdtemp(join(tmpdir(), 'carillon-processes-')))
  }

  /** `port`: that of a node that has ended. */
  async node(databaseUrl: string, engine: EngineSettings, port?: number): Promise<NodeProcess> {
    const options: HttpNodeProcessOptions = { databaseUrl, engine, port }
    const { child, said } = await this.#start('./http-node-process.ts', options)
    return { child, ...(said as HttpNodeProcessWord) }
  }

  async worker(name: string, options: { urls: string[]; slots: number }): Promise<ChildProcess> {
    const whole: RemoteWorkerProcessOptions = { ...options, runsFile: join(this.#folder, `${name}.runs`) }
    return (await this.#start('./remote-worker-process.ts', whole)).child
  }

  async runs(): Promise<Run[]> {
    const files = (await readdir(this.#folder)).filter((name) => name.endsWith('.runs'))
    const texts = await Promise.all(files.map((name) => readFile(join(this.#folder, name), 'utf8')))
    return texts
      .flatMap((text) => text.split('\n').filter((line) => line !== ''))
      .map((line) => {
        const [what, executionId, fence, at] = line.split(' ') as [Run['what'], string, string, string]
        return { what, executionId, fence: Number(fence), at: Number(at) }
      })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map(end))
    await rm(this.#folder, { recursive: true })
  }

  async #start(file: string, options: object): Promise<{ child: ChildProcess; said: unknown }> {
    const child = fork(new URL(file, import.meta.url), [JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [],
    })
    this.#children.push(child)
    const said = await new Promise<unknown>((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)))
    })
    return { child, said }
  }
}

/** With kill -9. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGCONT')
  child.kill('SIGKILL')
  await gone
}
