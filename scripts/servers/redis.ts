/** Redis as Debian packages it (`apt-get install redis-server`). Nothing is written to disk unless asked for. */
import { connect } from 'node:net'
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
      name: 'redis',
      install: 'apt-get install --no-install-recommends redis-server',
      command: async ({ folder, port }) => ({
        file: 'redis-server',
        args: ['--port', `${port}`, '--bind', host, '--dir', folder, '--save', '', '--appendonly', 'no', ...args],
      }),
      url: (port) => `redis://${host}:${port}`,
      probe: ping,
      readyWithinMs: 10_000,
    },
    options,
  )
}

const host = '127.0.0.1'

/** Rejects too while it loads its data. */
function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write('PING\r\n'))
    socket.setTimeout(1_000, () => socket.destroy(new Error('no answer')))
    socket.once('error', reject)
    socket.once('data', (text) => {
      socket.destroy()
      if (String(text).startsWith('+PONG')) resolve()
      else reject(new Error(String(text)))
    })
  })
}
