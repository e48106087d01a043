/** Submits jobs to a peer, in bulk or one by one, as its parent asks. */
import { monotonicMs } from '../measure/clock.ts'
import { jobOf } from './peer.ts'
import { type PeerProcessOptions, wiringOf } from './wiring.ts'

export type SubmitterOrder = { bulk: { first: number; count: number; overHttp: boolean } } | { one: number } | 'close'
/** `ms`: until the last acknowledgement of a bulk. `at`: just before a single job was submitted. */
export type SubmitterWord = 'ready' | { bulk: number; ms: number } | { one: number; at: number } | 'closed'

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as PeerProcessOptions)

async function run({ peer, place }: PeerProcessOptions): Promise<void> {
  const submitter = await (await wiringOf(peer)).submitter(place)
  const tell = (word: SubmitterWord) => process.send!(word)
  process.on('message', async (order: SubmitterOrder) => {
    if (order === 'close') {
      await submitter.close()
      tell('closed')
    } else if ('bulk' in order) {
      const { first, count, overHttp } = order.bulk
      const from = monotonicMs()
      if (overHttp) await submitter.bulkOverHttp!(first, count)
      else await submitter.bulk(first, count)
      tell({ bulk: count, ms: monotonicMs() - from })
    } else {
      const job = jobOf(order.one)
      const at = monotonicMs()
      await submitter.one(job)
      tell({ one: order.one, at })
    }
  })
  tell('ready')
}
