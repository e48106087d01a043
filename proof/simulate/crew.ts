/** The processes that run seeds, and the PostgreSQL they share, each with a database of its own on it. */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'
import type { Answer, Order } from './seed-process.ts'
import type { SeedReport } from './simulation.ts'

/** What is simulated are our faults, not the disk's; and a server that tidies up on its own is not the same twice. */
const serverSettings = {
  ...{ fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', autovacuum: 'off', jit: 'off' },
  // Planning anew each time would be a tenth of a run.
  plan_cache_mode: 'force_generic_plan',
  ...{ shared_buffers: '256MB', max_wal_size: '4GB', checkpoint_timeout: '1h' },
}

export class Crew {
  readonly #members: Member[]
  readonly #close: () => Promise<void>

  private constructor(members: Member[], close: () => Promise<void>) {
    this.#members = members
    this.#close = close
  }

  static async gather(size: number): Promise<Crew> {
    const folder = await mkdtemp(join(tmpdir(), 'carillon-simulation-'))
    const members: Member[] = []
    let server: { url: string; stop(): Promise<void> } | null = null
    const close = async () => {
      for (const member of members) member.end()
      await server?.stop()
      await rm(folder, { recursive: true, force: true })
    }
    try {
      server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings: serverSettings })
      for (let n = 1; n <= size; n++) members.push(new Member(await createDatabase(server.url, `simulation_${n}`)))
      await Promise.all(members.map((member) => member.ready))
      return new Crew(members, close)
    } catch (error) {
      await close()
      throw error
    }
  }

  /** Runs orders, as many at a time as there are processes, until `next` has no more. */
  async work(next: () => Order | null, onReport: (order: Order, report: SeedReport) => void): Promise<void> {
    await Promise.all(
      this.#members.map(async (member) => {
        for (let order = next(); order !== null; order = next()) onReport(order, await member.run(order))
      }),
    )
  }

  close(): Promise<void> {
    return this.#close()
  }
}

class Member {
  readonly ready: Promise<void>
  readonly #process: ChildProcess
  #answer: { resolve: (report: SeedReport) => void; reject: (error: Error) => void } | null = null

  constructor(url: string) {
    this.#process = fork(new URL('./seed-process.ts', import.meta.url), [url], { execArgv: [] })
    this.ready = new Promise((resolve, reject) => {
      this.#process.on('message', (answer: Answer) => ('ready' in answer ? resolve() : this.#answered(answer)))
      this.#process.once('exit', (code) => {
        const gone = new Error(`a process of the simulation ended with ${code}`)
        reject(gone)
        this.#answer?.reject(gone)
      })
    })
  }

  run(order: Order): Promise<SeedReport> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject }
      this.#process.send(order)
    })
  }

  end(): void {
    this.#process.kill('SIGKILL')
  }

  #answered(answer: Exclude<Answer, { ready: true }>): void {
    if ('report' in answer) this.#answer!.resolve(answer.report)
    else this.#answer!.reject(new Error(`seed ${answer.order.seed} broke the simulator: ${answer.failure}`))
  }
}

async function createDatabase(server: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(`create database ${name}`)
  } finally {
    await client.end()
  }
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
