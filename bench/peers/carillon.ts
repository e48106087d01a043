/**
 * Carillon as a peer among peers, as it is shipped. In bulk the program that has the jobs writes them to PostgreSQL itself, as
 * the peers' programs do, and besides through a node. Single ones and all work go through a node: over HTTP with auth on.
 */
import { randomUUID } from 'node:crypto'
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { type Carillon, createCarillon } from '@carillon/server'
import type { Ground } from '../ground/ground.ts'
import { handlerNames } from '../work.ts'
import { jobsOf, type PeerJob, type PeerPayload } from './peer.ts'
import { settleDatabase } from './postgres-store.ts'
import { inBatches, type Place, type Store, type Wiring } from './wiring.ts'

interface Settings {
  databaseUrl: string
  tenants: string[]
  urls: string[]
  tokens: string[]
  workerToken: string
  /** Of each of the five handlers. */
  concurrency: number
}

const calls = { size: 5_000, inFlight: 2 }
const requests = { size: 1_000, inFlight: 4 }

export const wiring: Wiring = {
  async submitter(place) {
    const { databaseUrl, tenants, urls, tokens } = settingsOf(place)
    // When it is asked for: who submits over HTTP has none beside it.
    let library: Promise<Carillon> | undefined
    const definitions = handlerNames.map((name) => defineHandler<PeerPayload>({ name }))
    let next = 0
    // A batch, and a request, is of one tenant; the tenants take turns.
    const client = createClient({ urls, token: () => tokens[next++ % tokens.length]! })
    const key = () => ({ 'idempotency-key': randomUUID() })
    return {
      bulk: (first, count) =>
        inBatches({ first, count, ...calls }, async (from, many) => {
          library ??= openLibrary(databaseUrl)
          const tenant = tenants[next++ % tenants.length]!
          const payloads = jobsOf(from, many).map(({ payload }) => payload)
          return (await library).enqueueMany(definitions[next % definitions.length]!, payloads, { tenant })
        }),
      bulkOverHttp: (first, count) =>
        inBatches({ first, count, ...requests }, (from, many) =>
          client.call('createJobs', { body: { jobs: jobsOf(from, many).map(inputOf) }, headers: key() }),
        ),
      one: async (job) => void (await client.call('createJob', { body: inputOf(job), headers: key() })),
      close: async () => {
        await client.close()
        await (await library)?.stop()
      },
    }
  },

  async worker(place, run) {
    const { urls, workerToken: token, concurrency } = settingsOf(place)
    const handlers = handlerNames.map((name) =>
      implementHandler(
        defineHandler<PeerPayload>({ name }),
        ({ payload }) => {
          run(payload)
          return null
        },
        { concurrency },
      ),
    )
    const worker = createWorker({ urls, token, handlers })
    return { start: () => worker.start(), close: () => worker.stop() }
  },
}

async function openLibrary(databaseUrl: string): Promise<Carillon> {
  const carillon = await createCarillon({ databaseUrl })
  await carillon.start()
  return carillon
}

/** With its history laid. */
export async function openStore(ground: Ground, { concurrency }: { concurrency: number }): Promise<Store> {
  const installation = await ground.installation()
  const { databaseUrl, tenants, urls, tokens, workerToken } = installation
  const since = await installation.now()
  return {
    place: {
      url: urls[0]!,
      settings: { databaseUrl, tenants, urls, tokens, workerToken, concurrency } satisfies Settings,
    },
    pending: async () => {
      const { ready, running } = await installation.unfinished()
      return ready + running
    },
    finished: async () => (await installation.ledger(since)).succeeded,
    settle: () => settleDatabase((text) => installation.query(text)),
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  }
}

function inputOf({ handler, payload }: PeerJob) {
  return { type: 'ONE_SHOT' as const, target: { handler }, payload: { ...payload } }
}

function settingsOf(place: Place): Settings {
  return place.settings as Settings
}
