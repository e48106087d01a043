import { defineHandler } from '@carillon/server'
import { expect, it } from 'vitest'
import { quickTimes, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

const work = defineHandler<Record<string, never>>({ name: 'work' })
const slots = 4
const backlog = 1_000
const smallCount = 5

/** A handler that waits to be let through, one after the other. */
function startGate() {
  const starts: string[] = []
  const gates: (() => void)[] = []
  let open = false
  return {
    starts,
    async enter(tenant: string): Promise<void> {
      starts.push(tenant)
      if (!open) await new Promise<void>((resolve) => gates.push(resolve))
    },
    letOneGo: () => gates.shift()?.(),
    letAllGo: () => {
      open = true
      for (const go of gates) go()
    },
  }
}

it('shares between a tenant with a backlog and one that has just come', async () => {
  const gate = startGate()
  await using test = await testCarillon((carillon) => {
    carillon.handle(work, { concurrency: slots }, (ctx) => gate.enter(ctx.tenant))
  }, quickTimes)
  const started = (tenant: string) => gate.starts.filter((t) => t === tenant).length
  await test.carillon.enqueueMany(work, Array(backlog).fill({}), { tenant: 'large' })
  await until(() => {
    gate.letOneGo()
    return started('large') >= 50
  })
  const arrival = gate.starts.length
  await test.carillon.enqueueMany(work, Array(smallCount).fill({}), { tenant: 'small' })
  await until(() => {
    gate.letOneGo()
    return started('small') === smallCount
  })
  // Two tenants of weight 1: at most W / w + S = 2 + S starts of others before the next one of `small`, besides what the
  // worker had taken ahead when it came; it takes ahead little, because it runs slowly.
  const places = gate.starts.flatMap((tenant, i) => (tenant === 'small' ? [i - arrival] : []))
  expect(places[0]!).toBeLessThanOrEqual(2 + slots + slots)
  for (let i = 1; i < places.length; i++) expect(places[i]! - places[i - 1]!).toBeLessThanOrEqual(2 + slots)
  gate.letAllGo()
  await until(() => gate.starts.length === backlog + smallCount)
}, 60_000)
