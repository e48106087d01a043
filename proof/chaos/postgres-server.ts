/**
 * The PostgreSQL of a run: the one Carillon brings or another, fsync on, which can be killed and comes back on the same data. One thing
 * at a time is done to it, in the order in which it was asked for; once it was stopped for good it does not come back.
 */
import { appendFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'

export interface PostgresServerOptions {
  dataDir: string
  logFile: string
  settings: Record<string, string>
  /** The folder of PostgreSQL's programs; those that Carillon brings if not given. */
  binaries?: string
}

export class PostgresServer {
  readonly #dataDir: string
  readonly #settings: Record<string, string>
  readonly #logFile: string
  readonly #binaries: string | undefined
  #running: EmbeddedPostgres | null = null
  #url = ''
  #closed = false
  #last: Promise<unknown> = Promise.resolve()

  constructor({ dataDir, logFile, settings, binaries }: PostgresServerOptions) {
    this.#dataDir = dataDir
    this.#logFile = logFile
    this.#binaries = binaries
    this.#settings = settings
  }

  get isUp(): boolean {
    return this.#running !== null
  }

  /** Where it is, or was last. */
  get url(): string {
    return this.#url
  }

  get port(): number {
    return Number(new URL(this.#url).port)
  }

  start(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed || this.#running) return
      const log = (line: string) => appendFileSync(this.#logFile, `${line}\n`)
      this.#running = await startEmbeddedPostgres({
        ...{ dataDir: this.#dataDir, settings: this.#settings, log },
        binaries: this.#binaries,
      })
      this.#url = this.#running.url
    })
  }

  /** Kills the server and every process of it with -9, all at once. */
  kill(): Promise<void> {
    return this.#inTurn(async () => {
      const server = this.#running
      if (server === null) return
      this.#running = null
      for (const pid of [server.pid, ...(await childrenOf(server.pid))]) kill(pid)
      await server.stop()
    })
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#inTurn(async () => {
      const server = this.#running
      this.#running = null
      await server?.stop()
    })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** Where there is no /proc, the children are left to find out by themselves that their parent is gone. */
async function childrenOf(parent: number): Promise<number[]> {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')))
  // The name in brackets may hold anything: the parent is the second field after the last bracket.
  const parents = stats.map((stat) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
  return names.filter((_, i) => parents[i] === parent).map(Number)
}
