/** Redis as Debian packages it (`apt-get install redis-server`). Nothing is written to disk unless asked for. */
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type RunningServer, type ServerOptions, startProgram } from './process.ts'

export type RedisServer = RunningServer

export interface RedisOptions extends ServerOptions {
  /** More of its settings, such as `['--maxmemory', '1gb']`. */
  args?: string[]
}

/** In a folder that the caller names, a dump.rdb is loaded. */
export function startRedis({ args = [], ...options }: RedisOptions = {}): Promise<RedisServer> {
  return startProgram(
    {
      ...redis,
      command: async (place) => ({
        file: 'redis-server',
        args: [...placeOf(place), '--save', '', '--appendonly', 'no', ...args],
      }),
    },
    options,
  )
}

/** A sentinel that watches a master by this name and alone decides that it is gone, after a second. */
export function startSentinel(master: RedisServer, name: string): Promise<RedisServer> {
  const watch = [
    `monitor ${name} ${host} ${master.port} 1`,
    `down-after-milliseconds ${name} 1000`,
    `failover-timeout ${name} 5000`,
  ]
  return startProgram({
    ...redis,
    async command({ folder, port }) {
      const file = join(folder, 'sentinel.conf')
      await writeFile(file, watch.map((line) => `sentinel ${line}\n`).join(''))
      return { file: 'redis-server', args: [file, '--sentinel', ...placeOf({ folder, port })] }
    },
  })
}

const host = '127.0.0.1'

const redis = {
  name: 'redis',
  install: 'apt-get install --no-install-recommends redis-server',
  url: (port: number) => `redis://${host}:${port}`,
  probe: ping,
  readyWithinMs: 10_000,
}

function placeOf({ folder, port }: { folder: string; port: number }): string[] {
  return ['--port', `${port}`, '--bind', host, '--dir', folder]
}

/** Rejects too while it loads its data. */
async function ping(port: number): Promise<void> {
  const answer = await askRedis(port, 'PING')
  if (!answer.startsWith('+PONG')) throw new Error(answer)
}

/** A command without spaces in its words; answers the first bytes as Redis sent them. */
export function askRedis(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(`${command}\r\n`))
    socket.setTimeout(1_000, () => socket.destroy(new Error('no answer')))
    socket.once('error', reject)
    socket.once('data', (text) => {
      socket.destroy()
      resolve(String(text))
    })
  })
}
