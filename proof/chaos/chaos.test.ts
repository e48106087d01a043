import { it } from 'vitest'
import { chaos } from './chaos.ts'
import type { FaultKind } from './fault-runner.ts'
import { outage } from './outage.ts'
import { overlapNotChecked, rowsLost } from './sabotage.test-support.ts'

// The whole of it, every kind of fault for five minutes, is `npm run chaos -- --seconds 300`.

const never = new AbortController().signal
/** What it shows is that nothing is lost or doubled, not how fast a busy machine is. */
const patient = { recoveryMs: 60_000, bounds: { fireMs: 60_000, startMs: 60_000, lostMs: 60_000 } }
const small = { nodes: 2, workers: 2, slots: 30, jobs: 40, seed: 1, signal: never, log: () => {} }
const quick = { leaseMs: 1_000, renewEveryMs: 200, statementTimeoutMs: 900, heartbeatEveryMs: 300, workerLostMs: 1_500 }

/** Those that are over within a second or two. */
const cheap: FaultKind[] = [
  'node killed',
  'node paused',
  'worker killed',
  'worker paused',
  'database killed',
  'database way cut',
  'worker way cut',
  'worker way held',
  'snapshot held',
  'rows locked',
  'clock skewed',
]

it.concurrent('loses and doubles nothing, whatever is killed, paused, cut, locked or skewed', async ({ expect }) => {
  const result = await chaos({
    ...small,
    ...patient,
    seconds: 15,
    kinds: cheap,
    rounds: 1,
    calmMs: 4_000,
    engine: { ...quick, pollMs: 200 },
  })
  expect(result.violations).toEqual([])
  expect(result).toMatchObject({ lost: 0, doubled: 0 })
  expect(result.faults).toEqual(Object.fromEntries(cheap.map((kind) => [kind, 1])))
  expect(result.fired).toBeGreaterThan(300)
}, 90_000)

it.concurrent('takes nothing from anybody because the database was away', async ({ expect }) => {
  const result = await outage({
    ...small,
    ...patient,
    seconds: 6,
    long: 4,
    beforeMs: 1_000,
    afterMs: 4_000,
    engine: { ...quick, pollMs: 200 },
  })
  expect(result.violations).toEqual([])
  expect(result).toMatchObject({ lost: 0, doubled: 0 })
}, 90_000)

it.concurrent('finds out when rows are lost and overlap is not checked', async ({ expect }) => {
  const { violations, lost } = await chaos({
    ...small,
    ...patient,
    seconds: 6,
    kinds: [],
    rounds: 0,
    calmMs: 0,
    engine: { ...quick, pollMs: 200 },
    sabotage: async (stage) => {
      await rowsLost(stage)
      await overlapNotChecked(stage)
    },
  })
  expect(lost).toBeGreaterThan(0)
  const found = new Set(violations.map(({ checker }) => checker))
  // verify may find the lost submissions too: nodes write down what they acknowledged a few seconds later.
  found.delete('verify')
  // Among the lost ones may be some that stand for a run, or follow another.
  for (const checker of ['ends-are-followed', 'runs-end-their-executions']) found.delete(checker)
  expect([...found].sort()).toEqual([
    'acknowledged-is-kept',
    'forbid-never-overlaps',
    'occurrences',
    'store-invariants',
  ])
}, 90_000)
