/** The demo's handlers: short, and each shows one thing. */
import { setTimeout as after } from 'node:timers/promises'
import { defineHandler, implementHandler } from '@carillon/sdk'

export const heartbeat = defineHandler<null>({ name: 'heartbeat' })
export const report = defineHandler<{ pages: number }>({ name: 'report' })
export const flaky = defineHandler<{ failureRate: number }>({ name: 'flaky' })
export const hopeless = defineHandler<null>({ name: 'hopeless' })
export const nightly = defineHandler<null>({ name: 'nightly' })
export const importing = defineHandler<{ rows: number }>({ name: 'import' })
export const charge = defineHandler<null>({ name: 'charge' })
export const digest = defineHandler<{ team: string }>({ name: 'digest' })

class Unlucky extends Error {
  override readonly name = 'Unlucky'
}

class CardDeclined extends Error {
  override readonly name = 'CardDeclined'
}

const pageMs = 250
const batchMs = 500
const batchRows = 250

export const handlers = [
  implementHandler(heartbeat, (ctx) => ({ beat: ctx.scheduledFor.toISOString() })),

  // Takes a second and says how far it is: see `progress` of the execution while it runs.
  implementHandler(report, async (ctx) => {
    const { pages } = ctx.payload
    for (let page = 1; page <= pages; page++) {
      await after(pageMs, undefined, { signal: ctx.signal })
      ctx.heartbeat({ page, of: pages })
      ctx.log(`page ${page} of ${pages}`)
    }
    return { pages }
  }),

  // Fails sometimes, and is tried again.
  implementHandler(flaky, (ctx) => {
    if (Math.random() < ctx.payload.failureRate) throw new Unlucky(`the dice said no to try ${ctx.attempt}`)
    return { tries: ctx.attempt }
  }),

  // Never succeeds: it ends among the dead letters.
  implementHandler(hopeless, () => {
    throw new Error('this one never works')
  }),

  implementHandler(nightly, () => 'good night'),

  // Runs for a while: follow its lines while it does.
  implementHandler(importing, async (ctx) => {
    const { rows } = ctx.payload
    for (let done = 0; done < rows; done += batchRows) {
      await after(batchMs, undefined, { signal: ctx.signal })
      ctx.heartbeat({ done: Math.min(done + batchRows, rows), total: rows })
      ctx.log(`imported rows ${done + 1} to ${Math.min(done + batchRows, rows)}`)
    }
    return { rows }
  }),

  // Fails in a way that another try does not mend.
  implementHandler(charge, (ctx) => {
    if (Math.random() < 0.3) throw new CardDeclined('the bank declined the card')
    return { charged: ctx.executionId }
  }),

  implementHandler(digest, (ctx) => `a digest for ${ctx.payload.team}`),
]
