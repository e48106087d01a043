/** graphile-worker. README.md says where each setting comes from and what else was tried. */
import './quiet-graphile-worker.ts'
import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker'
import { Pool } from 'pg'
import type { Ground } from '../ground/ground.ts'
import { handlerNames } from '../work.ts'
import { jobsOf, type PeerPayload } from './peer.ts'
import { openPostgresStore } from './postgres-store.ts'
import { inBatches, type Place, type Store, type Wiring } from './wiring.ts'

export const settings = {
  concurrentJobs: 24,
  poolSize: 25,
  localQueue: 500,
  completeJobBatchDelay: 0,
  addJobs: 5_000,
  addJobsInFlight: 2,
}

const silent = new Logger(() => () => {})

export const wiring: Wiring = {
  async submitter(place) {
    const { addJobs: size, addJobsInFlight: inFlight } = settingsOf(place)
    const pool = await warmPool(place.url, inFlight)
    const utils = await makeWorkerUtils({ pgPool: pool, logger: silent })
    return {
      bulk: (first, count) =>
        inBatches({ first, count, size, inFlight }, (from, many) =>
          utils.addJobs(jobsOf(from, many).map(({ handler, payload }) => ({ identifier: handler, payload }))),
        ),
      one: async ({ handler, payload }) => void (await utils.addJob(handler, payload)),
      close: async () => {
        await utils.release()
        await pool.end()
      },
    }
  },

  async worker(place, runs) {
    const { concurrentJobs, poolSize, localQueue, completeJobBatchDelay } = settingsOf(place)
    const pool = await warmPool(place.url, poolSize)
    const handler = async (payload: unknown) => runs(payload as PeerPayload)
    let runner: Runner | undefined
    return {
      async start() {
        runner = await run({
          pgPool: pool,
          logger: silent,
          noHandleSignals: true,
          taskList: Object.fromEntries(handlerNames.map((name) => [name, handler])),
          preset: {
            worker: {
              concurrentJobs,
              localQueue: { size: localQueue },
              completeJobBatchDelay,
              failJobBatchDelay: completeJobBatchDelay,
            },
          },
        })
      },
      close: async () => {
        await runner?.stop()
        await pool.end()
      },
    }
  },
}

/** Done jobs are deleted: it keeps no history. */
export function openStore(ground: Ground): Promise<Store> {
  return openPostgresStore(ground, {
    settings,
    prepare: async ({ url }) => {
      const utils = await makeWorkerUtils({ connectionString: url, logger: silent })
      await utils.migrate()
      await utils.release()
    },
    pending: 'SELECT count(*) FROM graphile_worker._private_jobs',
    finished: null,
  })
}

function settingsOf(place: Place): typeof settings {
  return place.settings as typeof settings
}

async function warmPool(connectionString: string, max: number): Promise<Pool> {
  const pool = new Pool({ connectionString, max })
  pool.on('error', fail)
  pool.on('connect', (client) => client.on('error', fail))
  const clients = await Promise.all(Array.from({ length: max }, () => pool.connect()))
  for (const client of clients) client.release()
  return pool
}

function fail(error: Error): void {
  throw error
}
