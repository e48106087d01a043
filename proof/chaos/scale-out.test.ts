import { afterAll, expect, it } from 'vitest'
import { describeWith } from '../../test/support/servers.ts'
import { chaos } from './chaos.ts'
import type { FaultKind } from './fault-runner.ts'
import { ScaleOut } from './scale-out.ts'
import { serverFaultKinds } from './server-faults.ts'

// The whole of it is `npm run chaos -- --profile scale-out --seconds 300`.

const nodes = 2
/** Every fault of the servers, and the two that make the others the only ones left to ask. */
const kinds: FaultKind[] = [...serverFaultKinds, 'node killed', 'database killed']

await describeWith(
  'the servers of scale-out',
  () => ScaleOut.open({ nodes, fallback: true }),
  (scaleOut) => {
    afterAll(() => scaleOut[Symbol.asyncDispose]())

    it('loses and doubles nothing, whatever happens to Redis, etcd and Kafka', async () => {
      const result = await chaos({
        ...{ nodes, workers: 2, slots: 30, jobs: 40, seed: 1, seconds: 24, kinds, rounds: 1, calmMs: 6_000, scaleOut },
        ...{ signal: new AbortController().signal, log: () => {} },
        engine: { leaseMs: 2_000, heartbeatEveryMs: 300, workerLostMs: 1_500, pollMs: 200 },
        // What it shows is that nothing is lost or doubled, not how fast a busy machine is.
        recoveryMs: 60_000,
        bounds: { fireMs: 60_000, startMs: 60_000, lostMs: 60_000 },
      })
      expect(result.violations).toEqual([])
      expect(result).toMatchObject({ lost: 0, doubled: 0 })
      expect(result.faults).toEqual(Object.fromEntries(kinds.map((kind) => [kind, 1])))
      expect(result.fired).toBeGreaterThan(500)
    }, 180_000)
  },
)
