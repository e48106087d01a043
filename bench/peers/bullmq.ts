/** BullMQ on Redis. README.md says where each setting comes from and what else was tried. */
import { setTimeout as after } from 'node:timers/promises'
import { Queue, Worker } from 'bullmq'
import type { Ground } from '../ground/ground.ts'
import { timesOf } from '../measure/cpu.ts'
import { jobsOf, type PeerPayload } from './peer.ts'
import { startRedis } from './redis-server.ts'
import { inBatches, type Place, type Store, type Wiring } from './wiring.ts'

export const settings = {
  workers: 1,
  concurrency: 300,
  addBulk: 1_000,
  addBulkInFlight: 2,
  keepDone: true,
}

const queueName = 'work'

export const wiring: Wiring = {
  async submitter(place) {
    const { addBulk: size, addBulkInFlight: inFlight } = settingsOf(place)
    const queue = queueOf(place)
    await queue.waitUntilReady()
    return {
      bulk: (first, count) =>
        inBatches({ first, count, size, inFlight }, (from, many) =>
          queue.addBulk(jobsOf(from, many).map(({ handler, payload }) => ({ name: handler, data: payload }))),
        ),
      one: async ({ handler, payload }) => void (await queue.add(handler, payload)),
      close: () => queue.close(),
    }
  },

  async worker(place, run) {
    const { workers: count, concurrency } = settingsOf(place)
    const connection = connectionOf(place)
    const work = async ({ data }: { data: PeerPayload }) => run(data)
    const workers = Array.from(
      { length: count },
      () => new Worker<PeerPayload>(queueName, work, { connection, concurrency, autorun: false }),
    )
    await Promise.all(workers.map((worker) => worker.waitUntilReady()))
    return {
      async start() {
        for (const worker of workers) void worker.run()
      },
      close: async () => void (await Promise.all(workers.map((worker) => worker.close()))),
    }
  },
}

export async function openStore(ground: Ground): Promise<Store> {
  await using opening = new AsyncDisposableStack()
  const redis = opening.use(await startRedis(ground.folder))
  const place = { url: redis.url, settings }
  const queue = queueOf(place)
  queue.on('error', () => {})
  await queue.waitUntilReady()
  const opened = opening.move()
  return {
    place,
    pending: async () => {
      const { waiting = 0, active = 0 } = await queue.getJobCounts('waiting', 'active')
      return waiting + active
    },
    finished: async () => (settingsOf(place).keepDone ? queue.getCompletedCount() : null),
    // Until its log is on disk.
    settle: () => after(1_100),
    redisMs: async () => (await timesOf(redis.pid))?.ms ?? 0,
    [Symbol.asyncDispose]: async () => {
      await queue.close()
      await opened.disposeAsync()
    },
  }
}

function queueOf(place: Place): Queue<PeerPayload, unknown, string> {
  return new Queue(queueName, {
    connection: connectionOf(place),
    defaultJobOptions: { removeOnComplete: !settingsOf(place).keepDone },
  })
}

function settingsOf(place: Place): typeof settings {
  return place.settings as typeof settings
}

function connectionOf({ url }: Place) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
