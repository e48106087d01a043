/**
 * The processes of a run, by role. Each gets its options as JSON in argv[2] and says one word over IPC when it is ready.
 * What they print goes to a file each and is shown if they end before their time. They are not in the terminal's process
 * group: Ctrl-C reaches the benchmark only, which then ends them.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Role, timesOf } from '../measure/cpu.ts'
import type { Started } from './ground.ts'

export type ChildRole = Exclude<Role, 'postgres'>

interface Member {
  role: ChildRole
  /** What it had used when it was looked at last. */
  ms: number
  ending: boolean
}

const leash = new URL('./leash.ts', import.meta.url).href
const lastWords = 4_000

export class Children {
  readonly #folder: string
  readonly #members = new Map<ChildProcess, Member>()
  #breaking = unbroken()
  #count = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  get broken(): Promise<never> {
    return this.#breaking.promise
  }

  async start<Said>(role: ChildRole, program: URL, options: object): Promise<Started<Said>> {
    const name = basename(program.pathname, '.ts')
    const file = join(this.#folder, `${name}-${++this.#count}.log`)
    const log = await open(file, 'a')
    const child = fork(program, [JSON.stringify(options)], {
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
      execArgv: ['--import', leash],
      serialization: 'advanced',
      detached: true,
    })
    await log.close()
    this.#members.set(child, { role, ms: 0, ending: false })
    child.once('exit', (code, signal) => void this.#gone(child, { name, file, how: signal ?? code }))
    const said = await Promise.race([once(child, 'message').then(([word]) => word as Said), this.broken])
    return { child, said, [Symbol.asyncDispose]: () => this.end(child) }
  }

  async end(child: ChildProcess): Promise<void> {
    const member = this.#members.get(child)
    if (member) member.ending = true
    if (child.exitCode !== null || child.signalCode !== null) return
    await this.#look(child, member)
    const gone = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await gone
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#members.keys()].map((child) => this.end(child)))
  }

  /** Ms of CPU of all there ever were. Of one that was killed by somebody else, up to the look before. */
  async cpu(): Promise<Record<ChildRole, number>> {
    const sums = { node: 0, worker: 0, generator: 0 }
    await Promise.all(
      [...this.#members].map(async ([child, member]) => {
        await this.#look(child, member)
        sums[member.role] += member.ms
      }),
    )
    return sums
  }

  async #look(child: ChildProcess, member: Member | undefined): Promise<void> {
    if (!member || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const times = await timesOf(child.pid)
    if (times !== null) member.ms = Math.max(member.ms, times.ms)
  }

  async #gone(child: ChildProcess, { name, file, how }: { name: string; file: string; how: unknown }): Promise<void> {
    if (this.#members.get(child)?.ending || child.killed) return
    const text = await readFile(file, 'utf8').catch(() => '')
    const { reject } = this.#breaking
    this.#breaking = unbroken()
    reject(new Error(`${name} ended by itself (${how})\n${text.slice(-lastWords)}`))
  }
}

/** Whoever races against it hears of it; without a listener it would end the process. */
function unbroken(): PromiseWithResolvers<never> {
  const breaking = Promise.withResolvers<never>()
  breaking.promise.catch(() => {})
  return breaking
}
