/**
 * Executions at a fixed rate, and status reads at another, of those that were submitted in the last seconds. The rates do not follow
 * the answers: what cannot be sent in time, because every connection waits for an answer, is sent later. Of what is late by
 * more than a second, reads are left out and told; submissions never are.
 */
import type { Load } from '../ground/ground.ts'
import { handlerOf, payloadOf } from '../work.ts'
import { type RawAnswer, RawConnection } from './raw-connection.ts'
import { anyOf, requestText } from './requests.ts'

export interface PacedOptions {
  url: string
  tokens: string[]
  executionsPerSec: number
  readsPerSec: number
  /** Reads go to what was submitted this long ago at most. */
  recentSec: number
}

/** What it says meanwhile, since the beginning. */
export interface PacedWord {
  reads: number
  /** Reads that were left out. */
  missed: number
}

export interface PacedAnswer extends PacedWord {
  submitted: number
}

/** Executions come in this many requests a second. */
const batchesPerSec = 20
const tickMs = 5
const wordEveryMs = 100
const submitting = 8
/** Without reads none: a node closes connections that ask for nothing. */
const readingOf = (readsPerSec: number) => (readsPerSec > 0 ? 64 : 0)

const paced: Load<PacedOptions, PacedAnswer> = async (options, { signal, ready, say }) => {
  const { url, tokens, executionsPerSec, readsPerSec, recentSec } = options
  const { host } = new URL(url)
  const reading = readingOf(readsPerSec)
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {})
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => RawConnection.open(url, fail)))
  const [submitters, readers] = await Promise.all([open(submitting), open(reading)])
  // In turns: a node closes connections that ask for nothing.
  const [freeSubmitters, freeReaders] = [[...submitters], [...readers]]
  // The text after the id, by tenant.
  const ends = tokens.map((token) => requestText({ method: 'GET', path: '', host, token }).slice('GET '.length))
  const recent: { executionId: string; tenant: number }[] = []
  let [batches, submitted, sent, reads, missed] = [0, 0, 0, 0, 0]

  const submit = (connection: RawConnection) => {
    const tenant = batches % tokens.length
    const from = Math.floor((batches * executionsPerSec) / batchesPerSec)
    const until = Math.floor((++batches * executionsPerSec) / batchesPerSec)
    if (until === from) return void freeSubmitters.push(connection)
    const jobs = Array.from({ length: until - from }, (_, i) => ({
      type: 'ONE_SHOT',
      target: { handler: handlerOf(from + i) },
      payload: payloadOf(from + i),
    }))
    const path = '/v1/jobs/batch'
    const request = requestText({ method: 'POST', path, host, token: tokens[tenant]!, body: { jobs } })
    connection.send(request, (answer) => {
      freeSubmitters.push(connection)
      if (answer.status !== 201) return fail(new Error(`a batch was answered ${answer.status}: ${bodyOf(answer)}`))
      const { items } = JSON.parse(bodyOf(answer)) as { items: { jobId: string }[] }
      submitted += items.length
      for (const { jobId } of items) recent.push({ executionId: jobId, tenant })
      recent.splice(0, Math.max(0, recent.length - executionsPerSec * recentSec))
    })
  }
  const read = (connection: RawConnection) => {
    const { executionId, tenant } = anyOf(recent)
    connection.send(`GET /v1/executions/${executionId}${ends[tenant]!}`, (answer) => {
      freeReaders.push(connection)
      reads++
      if (answer.status === 200 && bodyOf(answer).includes(executionId)) return
      fail(new Error(`asked for ${executionId}, answered ${answer.status}: ${bodyOf(answer)}`))
    })
  }

  await ready()
  const startedAt = performance.now()
  const tick = () => {
    const elapsedSec = (performance.now() - startedAt) / 1_000
    while (batches < elapsedSec * batchesPerSec && freeSubmitters.length > 0) submit(freeSubmitters.shift()!)
    const due = Math.floor(elapsedSec * readsPerSec)
    if (recent.length === 0) sent = due
    while (sent + missed < due && freeReaders.length > 0) {
      sent++
      read(freeReaders.shift()!)
    }
    missed += Math.max(0, due - sent - missed - readsPerSec)
  }
  const timers = [setInterval(tick, tickMs), setInterval(() => say({ reads, missed }), wordEveryMs)]
  try {
    await Promise.race([failed, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))])
    for (const timer of timers) clearInterval(timer)
    const isQuiet = () => freeSubmitters.length === submitting && freeReaders.length === reading
    while (!isQuiet()) await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, tickMs))])
    return { submitted, reads, missed }
  } finally {
    for (const timer of timers) clearInterval(timer)
    for (const connection of [...submitters, ...readers]) connection.close()
  }
}

export default paced

function bodyOf({ bytes, bodyStart, bodyEnd }: RawAnswer): string {
  return bytes.toString('latin1', bodyStart, bodyEnd)
}
