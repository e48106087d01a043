/** etcd as Debian packages it (`apt-get install etcd-server`), one member. */
import { freePort, type RunningServer, type ServerOptions, startProgram } from './process.ts'

export interface EtcdOptions extends ServerOptions {
  /** Where it listens for clients besides its URL, such as `https://127.0.0.1:4001`. */
  listen?: string[]
  /** More of its settings. */
  args?: string[]
}

export async function startEtcd({ listen = [], args = [], ...options }: EtcdOptions = {}): Promise<RunningServer> {
  const peer = `http://127.0.0.1:${await freePort()}`
  return startProgram(
    {
      name: 'etcd',
      install: 'apt-get install etcd-server',
      command: async ({ folder, port }) => ({
        file: 'etcd',
        args: [
          ...['--name', 'carillon', '--data-dir', `${folder}/data`],
          ...['--listen-client-urls', [urlOf(port), ...listen].join(), '--advertise-client-urls', urlOf(port)],
          ...[
            '--listen-peer-urls',
            peer,
            '--initial-advertise-peer-urls',
            peer,
            '--initial-cluster',
            `carillon=${peer}`,
          ],
          // Short ones, so that leases of two seconds are possible: etcd gives none shorter than its election timeout allows.
          ...['--heartbeat-interval', '50', '--election-timeout', '500', '--log-level', 'warn', ...args],
        ],
      }),
      url: (port) => `etcd://127.0.0.1:${port}`,
      async probe(port) {
        const answer = await fetch(`${urlOf(port)}/health`)
        const { health } = (await answer.json()) as { health: string }
        if (health !== 'true') throw new Error('not healthy yet')
      },
      readyWithinMs: 20_000,
    },
    options,
  )
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`
}
