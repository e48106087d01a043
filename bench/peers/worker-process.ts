/** Runs a peer's jobs: the handler counts, and tells when a job began if its parent wants to know. */
import { monotonicMs } from '../measure/clock.ts'
import { type PeerProcessOptions, wiringOf } from './wiring.ts'

export type WorkerOrder = { start: { tellEach: boolean } } | 'close'
export type WorkerWord = 'ready' | 'started' | { runs: number } | { began: number; at: number } | 'closed'

const tellEveryMs = 10

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as PeerProcessOptions)

async function run({ peer, place }: PeerProcessOptions): Promise<void> {
  let [runs, told, tellEach] = [0, 0, false]
  const tell = (word: WorkerWord) => process.send!(word)
  const wiring = await wiringOf(peer)
  const worker = await wiring.worker(place, ({ n }) => {
    runs++
    if (tellEach) tell({ began: n, at: monotonicMs() })
  })
  process.on('message', async (order: WorkerOrder) => {
    if (order === 'close') {
      await worker.close()
      tell('closed')
      return
    }
    tellEach = order.start.tellEach
    setInterval(() => {
      if (runs === told) return
      told = runs
      tell({ runs })
    }, tellEveryMs)
    await worker.start()
    tell('started')
  })
  tell('ready')
}
