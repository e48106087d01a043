/**
 * A refund that a person has to approve. The first is approved and paid. Nobody answers for the second: its approval times out, and the
 * customer is told that it takes longer.
 *
 *   DATABASE_URL=postgres://… npx node examples/approval/main.ts
 */
import { setTimeout } from 'node:timers/promises'
import { defineDag } from '@carillon/sdk'
import { createCarillon, defineHandler } from '@carillon/server'

const check = defineHandler<null, null, { cents: number }>({ name: 'check' })
const pay = defineHandler<null, null, string>({ name: 'pay' })
const apologize = defineHandler<null, null, string>({ name: 'apologize' })

const databaseUrl = process.env.DATABASE_URL
const carillon = await createCarillon({
  ...(databaseUrl ? { databaseUrl } : { embedded: { dataDir: './data' } }),
  logLevel: 'silent',
})
carillon.handle(check, ({ dag }) => ({ cents: Number(dag?.payload) }))
carillon.handle(pay, ({ dag }) => {
  // What approves comes from outside, so its type is not known here.
  const { check, approve } = dag!.results as { check: { cents: number }; approve: { by: string } }
  return `paid ${check.cents} cents, approved by ${approve.by}`
})
carillon.handle(apologize, () => 'told the customer that it takes longer')
await carillon.start()

const refund = defineDag({ key: 'refund' })
const checked = refund.step('check', check)
const approved = refund.signal('approve', { after: [checked], timeoutSec: 3 })
refund.step('pay', pay, { after: [checked, approved] })
refund.step('apologize', apologize, { after: [approved], runIf: 'ANY_FAILED' })
await carillon.dags.create(refund.build())

const [first, second] = [
  await carillon.dags.run('refund', { payload: 4200 }),
  await carillon.dags.run('refund', { payload: 9900 }),
]
await waits(first.runId, 'approve')
await carillon.dagRuns.signal(first.runId, 'approve', { by: 'ada' })
await show(first.runId)
await show(second.runId)
await carillon.stop()

/** Until the step waits for its signal. */
async function waits(runId: string, step: string): Promise<void> {
  while ((await carillon.dagRuns.get(runId))?.steps.find(({ name }) => name === step)?.state !== 'RUNNING') {
    await setTimeout(50)
  }
}

async function show(runId: string): Promise<void> {
  const { state, steps } = await carillon.dagRuns.wait(runId, { waitMs: 30_000 })
  const last = steps.find(({ name, state }) => state === 'SUCCEEDED' && (name === 'pay' || name === 'apologize'))
  const done = last && (await carillon.executions.get(last.executionId)).result
  console.log(`${state}: ${steps.map(({ name, state }) => `${name} ${state}`).join(', ')}`)
  console.log(done)
}
