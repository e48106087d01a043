/** pg-boss. README.md says where each setting comes from and what else was tried. */
import { PgBoss } from 'pg-boss'
import type { Ground } from '../ground/ground.ts'
import { jobsOf, type PeerPayload } from './peer.ts'
import { openPostgresStore } from './postgres-store.ts'
import { inBatches, type Place, type Store, type Wiring } from './wiring.ts'

export const settings = {
  notify: true,
  partition: true,
  batchSize: 1_000,
  localConcurrency: 2,
  insert: 1_000,
  insertInFlight: 2,
}

const queue = 'work'

export const wiring: Wiring = {
  async submitter(place) {
    const { insert: size, insertInFlight: inFlight } = settingsOf(place)
    const boss = await start(place, { supervise: false, schedule: false, max: inFlight })
    return {
      bulk: (first, count) =>
        inBatches({ first, count, size, inFlight }, (from, many) =>
          boss.insert(
            queue,
            jobsOf(from, many).map(({ payload }) => ({ data: payload })),
          ),
        ),
      one: async ({ payload }) => void (await boss.send(queue, payload)),
      close: () => boss.stop({ graceful: false }),
    }
  },

  async worker(place, run) {
    const { batchSize, localConcurrency, notify } = settingsOf(place)
    const boss = await start(place, { useListenNotify: notify })
    return {
      async start() {
        await boss.work<PeerPayload>(
          queue,
          { batchSize, localConcurrency, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
          async (jobs) => {
            for (const { data } of jobs) run(data)
          },
        )
      },
      close: () => boss.stop({ timeout: 5_000 }),
    }
  },
}

/** Done jobs stay for seven days unless told otherwise. */
export function openStore(ground: Ground): Promise<Store> {
  return openPostgresStore(ground, {
    settings,
    prepare: async (place) => {
      const { notify, partition } = settingsOf(place)
      const boss = await start(place, { supervise: false, schedule: false })
      await boss.createQueue(queue, { notify, partition })
      await boss.stop({ graceful: false })
    },
    pending: `SELECT count(*) FROM pgboss.job WHERE name = '${queue}' AND state < 'completed'`,
    finished: `SELECT count(*) FROM pgboss.job WHERE name = '${queue}' AND state = 'completed'`,
  })
}

async function start(place: Place, options: ConstructorParameters<typeof PgBoss>[0] & object): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: place.url, ...options })
  boss.on('error', (error) => {
    throw error
  })
  await boss.start()
  return boss
}

function settingsOf(place: Place): typeof settings {
  return place.settings as typeof settings
}
