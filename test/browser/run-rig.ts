/** A node with a worker whose handlers do what a test tells them, for the views of runs. */
import { silentLogger } from '@carillon/contract/process'
import { type Client, createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import type { ServeSettings } from '@carillon/server'
import type { Page } from 'playwright-core'
import { createApiKey } from '../../packages/server/src/administration/api-keys.ts'
import { promptTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'

class PaymentRequired extends Error {
  override readonly name = 'PaymentRequired'
}

const charge = defineHandler<{ customer: number }>({ name: 'charge', pool: 'billing' })
const speak = defineHandler<{ until?: string }>({ name: 'speak', pool: 'billing' })

export interface RunRig {
  node: HttpNode
  client: Client
  /** Fail for good, each with one attempt, until `repair` is called. */
  deadCharges(count: number): Promise<string[]>
  repair(): void
  /** Runs, and logs what it is told by `say`, until it is told to `fail` or `end`, or is aborted. */
  speaker(options?: { maxAttempts?: number }): Promise<string>
  say(text: string, progress?: unknown): void
  fail(): void
  end(): void
  /** Speakers whose signal was aborted. */
  aborted: string[]
  reach(executionId: string, state: string): Promise<void>
  key(scopes: readonly ('jobs:read' | 'jobs:write' | 'admin' | 'work')[]): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

export async function runRig(settings: ServeSettings = {}): Promise<RunRig> {
  const node = await httpNode({ engine: promptTimes, ...settings })
  const keyOf = async (scopes: Parameters<RunRig['key']>[0]) =>
    (await createApiKey(node.databaseUrl, { name: scopes.join(' '), tenant: 'default', scopes: [...scopes] })).key
  const token = settings.auth ? { token: await keyOf(['jobs:read', 'jobs:write', 'work']) } : {}
  const client = createClient({ urls: node.url, ...token })
  let isRepaired = false
  let speaking: { log: (text: string) => void; heartbeat: (progress: unknown) => void } | undefined
  let finish: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined
  const aborted: string[] = []
  const handlers = [
    implementHandler(charge, (ctx) => {
      if (!isRepaired) throw new PaymentRequired(`the card of customer ${ctx.payload.customer} was declined`)
      return { charged: ctx.payload.customer }
    }),
    implementHandler(speak, (ctx) => {
      speaking = ctx
      ctx.log(`attempt ${ctx.attempt} begins`)
      return new Promise((resolve, reject) => {
        finish = { resolve, reject }
        ctx.signal.addEventListener('abort', () => {
          aborted.push(ctx.executionId)
          reject(ctx.signal.reason)
        })
      })
    }),
  ]
  const worker = createWorker({ urls: node.url, name: 'rig', handlers, logger: silentLogger, drainSec: 1, ...token })
  await worker.start()
  return {
    node,
    client,
    aborted,
    key: keyOf,
    async deadCharges(count) {
      const ids: string[] = []
      for (let customer = 1; customer <= count; customer++) {
        ids.push((await client.enqueue(charge, { customer }, { retryPolicy: { maxAttempts: 1 } })).executionId)
      }
      for (const id of ids) await reach(id, 'DEAD')
      return ids
    },
    repair: () => {
      isRepaired = true
    },
    async speaker({ maxAttempts = 1 } = {}) {
      speaking = undefined
      const retryPolicy = { maxAttempts, backoff: 'FIXED', initialDelayMs: 1 } as const
      const { executionId } = await client.enqueue(speak, {}, { retryPolicy })
      await until(() => speaking !== undefined, waitMs)
      return executionId
    },
    say(text, progress) {
      speaking!.log(text)
      if (progress !== undefined) speaking!.heartbeat(progress)
    },
    fail: () => finish!.reject(new TypeError('it lost its voice')),
    end: () => finish!.resolve('said'),
    reach,
    async [Symbol.asyncDispose]() {
      finish?.resolve('over')
      await worker.stop()
      await client.close()
      await node[Symbol.asyncDispose]()
    },
  }

  async function reach(executionId: string, state: string): Promise<void> {
    await until(async () => (await client.execution(executionId))?.state === state, waitMs)
  }
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Token').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
}
