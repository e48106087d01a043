/**
 * The whole life of executions, steadily: a generator submits while workers lease, run and complete. In bulk unless another load is
 * given, and kept from running far ahead of the workers, so that the queue stays short. What was done in a stretch of time, the
 * ledger says.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { Generator, Installation, Workers } from '../ground/ground.ts'
import { type Cpu, cpuBetween } from '../measure/cpu.ts'
import type { Bench } from '../scenario.ts'
import type { BatchesOptions } from './batches.ts'

/** Of each handler, in each of the workers. */
export const concurrency = 40
/** What may wait: about half a second of work. */
const mostAhead = 8_000
const batch = 500
const inFlight = 4
/** In words, to be told with the results. */
export const loadText = `batches of ${batch}, ${inFlight} at a time, at most ${mostAhead} ahead`
const tellEveryMs = 20
const drainMs = 60_000

export interface Stretch {
  /** Ms since 1970, by the database's clock. */
  from: number
  until: number
  cpu: Cpu
}

export interface LifeIn {
  submitted: number
  finished: number
  /** The lesser of the two, a second. */
  rate: number
  /** From submission to end, of those that were finished. */
  p50Ms: number
  p99Ms: number
}

export interface SteadyLife extends AsyncDisposable {
  /** Lets it go on for so long. Throws if the load fails meanwhile. */
  goOn(seconds: number): Promise<Stretch>
  /** Ends the load and waits until all of it is done; throws unless the ledger holds all of it, once. */
  end(): Promise<void>
  /** What the load said last. */
  said(): unknown
  /** After the end: what the ledger says of a stretch. */
  lifeIn(stretch: Stretch): Promise<LifeIn>
}

/** Has submitted this many in the end. It is told all the time how many have begun. */
export type LifeLoad = Generator<{ submitted: number }>

export async function startLife(
  bench: Bench,
  installation: Installation,
  workers: Workers,
  startLoad: () => Promise<LifeLoad> = () => submitInBulk(bench, installation),
): Promise<SteadyLife> {
  const since = await installation.now()
  const begun = workers.count()
  const generator = await startLoad()
  generator.go()
  const telling = setInterval(() => generator.tell(workers.count() - begun), tellEveryMs)
  const failed = generator.answer.then(() => Promise.reject(new Error('the generator ended before its time')))
  failed.catch(() => {})
  return {
    async goOn(seconds) {
      const from = await installation.now()
      const before = await bench.ground.cpu()
      await Promise.race([after(seconds * 1_000), failed])
      const cpu = cpuBetween(before, await bench.ground.cpu())
      return { from, until: await installation.now(), cpu }
    },
    async end() {
      generator.stop()
      const { submitted } = await generator.answer
      await workers.finished(begun + submitted, drainMs)
      const { total, succeeded, extraAttempts } = await installation.ledger(since)
      if (total !== submitted || succeeded !== total || extraAttempts !== 0) {
        throw new Error(
          `the ledger has ${succeeded} of ${total} done, ${extraAttempts} tried again; ${submitted} asked`,
        )
      }
    },
    said: () => generator.said(),
    async lifeIn({ from, until }) {
      const [row] = await installation.query<Omit<LifeIn, 'rate'>>(stretchSql, [since, from, until])
      const { submitted, finished } = row!
      return { ...row!, rate: (Math.min(submitted, finished) * 1_000) / (until - from) }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(telling)
      generator.stop()
    },
  }
}

export function submitInBulk(
  bench: Bench,
  { urls, tokens }: Installation,
  more: Pick<BatchesOptions, 'limitKeys'> = {},
): Promise<LifeLoad> {
  const load: BatchesOptions = { urls, tokens, batch, inFlight, mostAhead, ...more }
  return bench.ground.generate(new URL('./batches.ts', import.meta.url), load)
}

const stretchSql = `
select s.submitted, s.finished, s."lifeMs"[1] "p50Ms", s."lifeMs"[2] "p99Ms" from (
  select count(*) filter (where fired_at >= carillon.at($2::bigint) and fired_at < carillon.at($3::bigint))::int submitted,
    count(*) filter (where finished_at >= carillon.at($2::bigint) and finished_at < carillon.at($3::bigint))::int finished,
    percentile_disc(array[0.5, 0.99]) within group (order by extract(epoch from finished_at - fired_at)::float8 * 1000)
      filter (where finished_at >= carillon.at($2::bigint) and finished_at < carillon.at($3::bigint)) "lifeMs"
  from carillon.executions where execution_id >= carillon.first_id($1::bigint)) s`
