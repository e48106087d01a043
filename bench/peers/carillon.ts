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
import { inBatches, type Place, type Store, type SubmitterSide, type Wiring } from './wiring.ts'

export interface Settings {
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
    const { urls, tokens } = settingsOf(place)
    const library = librarySubmitter(place)
    let next = 0
    // A batch, and a request, is of one tenant; the tenants take turns.
    const client = createClient({ urls, token: () => tokens[next++ % tokens.length]! })
    const key = () => ({ 'idempotency-key': randomUUID() })
    return {
      bulk: library.bulk,
      bulkOverHttp: (first, count) =>
        inBatches({ first, count, ...requests }, (from, many) =>
          client.call('createJobs', { body: { jobs: jobsOf(from, many).map(inputOf) }, headers: key() }),
        ),
      one: async (job) => void (await client.call('createJob', { body: inputOf(job), headers: key() })),
      close: async () => {
        await client.close()
        await library.close()
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

/** A program that writes its jobs to PostgreSQL itself. */
export function librarySubmitter(place: Place): Pick<SubmitterSide, 'bulk' | 'close'> {
  const { databaseUrl, tenants } = settingsOf(place)
  const definitions = handlerNames.map((name) => defineHandler<PeerPayload>({ name }))
  // When it is asked for: a program that submits over HTTP has none beside it.
  let library: Promise<Carillon> | undefined
  let next = 0
  return {
    // A call is of one tenant; the tenants take turns.
    bulk: (first, count) =>
      inBatches({ first, count, ...calls }, async (from, many) => {
        library ??= openLibrary(databaseUrl)
        const tenant = tenants[next++ % tenants.length]!
        const payloads = jobsOf(from, many).map(({ payload }) => payload)
        return (await library).enqueueMany(definitions[next % definitions.length]!, payloads, { tenant })
      }),
    close: async () => void (await (await library)?.stop()),
  }
}

export async function openLibrary(databaseUrl: string): Promise<Carillon> {
  const carillon = await createCarillon({ databaseUrl })
  await carillon.start()
  return carillon
}

export interface StoreOptions {
  concurrency: number
  /** 1 unless given. */
  nodes?: number
}

/** With its history laid. */
export async function openStore(ground: Ground, { concurrency, nodes = 1 }: StoreOptions): Promise<Store> {
  const installation = await ground.installation({ nodes })
  const { databaseUrl, tenants, urls, tokens, workerToken } = installation
  const since = await installation.now()
  return {
    place: {
      url: databaseUrl,
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

export function settingsOf(place: Place): Settings {
  return place.settings as Settings
}
