/** Work submitted: now, later, in a transaction of the caller's own, and at most once under a key. */
import { enqueueIn } from '../../../packages/server/src/library/enqueue-in.ts'
import { agree } from '../compare.ts'
import { someWork } from '../definitions.ts'
import { createJob } from '../oracle/jobs.ts'
import { type Dedupe, dedupe, enqueue, laterOf, submit } from '../oracle/people.ts'
import { livingJobs } from '../oracle/world.ts'
import type { Random } from '../random.ts'
import { tenant } from '../rig.ts'
import { handler, policyOf } from '../wire.ts'
import { type Operation, operation, type Sides } from './operation.ts'

const owner = { tenant, actor: 'person' }
const mostJobs = 14

export const submissions: Operation[] = [
  operation('work is submitted', 6, async ({ world, rig }, random) => {
    const work = someWork(random)
    const input = { type: 'ONE_SHOT', target: { pool: work.pool, handler }, ...policyOf(work) } as const
    const { job } = await rig.submissions.create(owner, input, null)
    submit(world, { id: job.definition.jobId, work, runAt: world.now })
    return true
  }),

  operation('work is submitted for later', 2, async ({ world, rig }, random) => {
    if (livingJobs(world).length >= mostJobs) return null
    const work = someWork(random)
    const runAt = world.now + random.between(1, 30_000)
    const input = { type: 'ONE_SHOT', runAt, target: { pool: work.pool, handler }, ...policyOf(work) } as const
    const { job } = await rig.submissions.create(owner, input, null)
    createJob(world, { id: job.definition.jobId, tenant, definition: laterOf(work, runAt), jitterMs: 0 })
    return true
  }),

  operation('work is enqueued in a transaction', 3, async ({ world, rig }, random) => {
    const work = someWork(random)
    const runAt = world.now + (random.chance(0.5) ? 0 : random.between(1, 20_000))
    const { client } = rig
    const target = { pool: work.pool, handler }
    await client.query('begin')
    const id = await enqueueIn(client, { target, tenant, payload: 'null', runAt, options: policyOf(work) })
    const commits = random.chance(0.8)
    await client.query(commits ? 'commit' : 'rollback')
    if (commits) enqueue(world, { id, work, runAt })
    return commits
  }),

  deduping('the first under a key stands', 'NEW', ['KEEP', 'REPLACE', 'DEBOUNCE']),
  deduping('a duplicate is dropped', 'KEPT', ['KEEP']),
  deduping('a duplicate replaces', 'REPLACED', ['REPLACE']),
  deduping('a duplicate pushes back', 'DEBOUNCED', ['DEBOUNCE']),
]

function deduping(
  name: string,
  verdict: string,
  actions: [Dedupe['onDuplicate'], ...Dedupe['onDuplicate'][]],
): Operation {
  return operation(name, 3, async (sides, random) => {
    if (livingJobs(sides.world).length >= mostJobs) return null
    const onDuplicate = random.pick(actions)
    return (await submitUnderKey(sides, random, onDuplicate)) === verdict
  })
}

async function submitUnderKey(
  { world, rig }: Sides,
  random: Random,
  onDuplicate: Dedupe['onDuplicate'],
): Promise<string> {
  const asked: Dedupe = {
    ...{ key: random.pick(['a', 'b', 'c']), onDuplicate, while: random.pick(['PENDING', 'UNFINISHED']) },
    windowSec: random.chance(0.3) ? random.between(1, 30) : null,
    maxWaitSec: onDuplicate === 'DEBOUNCE' && random.chance(0.5) ? random.between(1, 20) : null,
  }
  const work = someWork(random)
  const wishedAt = random.chance(0.4) ? world.now : world.now + random.between(1, 15_000)
  const { windowSec, maxWaitSec, ...rest } = asked
  const { job, dedupe: answer } = await rig.submissions.create(
    owner,
    {
      ...{ type: 'ONE_SHOT', runAt: wishedAt, target: { pool: work.pool, handler }, ...policyOf(work) },
      dedupe: { ...rest, ...(windowSec !== null && { windowSec }), ...(maxWaitSec !== null && { maxWaitSec }) },
    },
    null,
  )
  const ours = dedupe(world, asked, wishedAt)
  agree('what became of it', ours.verdict, answer!.verdict)
  if (ours.verdict === 'KEPT') {
    agree('what stands', ours.stands, answer!.executionId)
    return ours.verdict
  }
  const id = job.definition.jobId
  world.stands.set(asked.key, { id, ...ours.stand })
  if (ours.runAt <= world.now) submit(world, { id, work, runAt: ours.runAt })
  else createJob(world, { id, tenant, definition: laterOf(work, ours.runAt), jitterMs: 0 })
  return ours.verdict
}
