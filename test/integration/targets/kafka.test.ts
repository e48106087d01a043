/** Kafka targets: real messages in a real Kafka, with users and rights. */
import { PermanentError } from '@carillon/sdk'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { targetConfig } from '../../../packages/server/src/config/target-config.ts'
import { context } from '../../../packages/server/src/targets/http/http-target.test-support.ts'
import type { KafkaTarget } from '../../../packages/server/src/targets/kafka/kafka-rules.ts'
import { KafkaTargetRunner } from '../../../packages/server/src/targets/kafka/kafka-target.ts'
import { TargetFailed } from '../../../packages/server/src/targets/target-failed.ts'
import { OperatorRules } from '../../../packages/server/src/targets/target-rules.ts'
import type { RunningServer } from '../../../scripts/servers/process.ts'
import { describeWith } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { type Administrator, administrator, clusterUrl, readMessages, startSecuredKafka } from './kafka-cluster.ts'
import { openStage, type Stage } from './stage.ts'

type Context = typeof context

await describeWith('Kafka', startSecuredKafka, (kafka: RunningServer) => {
  let admin: Administrator
  let runner: KafkaTargetRunner
  let log: string[] = []

  const openRunner = (url: string, maxRequestSec = 900) => {
    const topics = ['orders.*']
    const { kafka: clusters, ...config } = targetConfig({ kafka: { main: { url, topics } } })
    const rules = new OperatorRules({ ...config, kafka: clusters })
    return KafkaTargetRunner.open({ rules, clusters, secrets: config.secrets, clientId: 'test', maxRequestSec })
  }
  const run = (target: KafkaTarget, more: Partial<Context> = {}, by = runner) =>
    by.run({ ...context, log: (line) => log.push(line), target: { kafka: target }, ...more })
  const thrown = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.unreachable(),
      (error: Error) => error,
    )

  beforeAll(async () => {
    admin = administrator(kafka)
    process.env.KAFKA_TEST_URL = clusterUrl(kafka)
    runner = await openRunner('env:KAFKA_TEST_URL')
    await admin.create('orders.first')
  }, 120_000)
  beforeEach(() => {
    log = []
  })
  afterAll(async () => {
    delete process.env.KAFKA_TEST_URL
    await runner.stop()
    await admin[Symbol.asyncDispose]()
    await kafka.stop()
  })

  describe('a message', () => {
    it('has the payload as its value, the job as its key and the execution in its headers', async () => {
      await admin.create('orders.whole', { partitions: 2 })
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const target = { topic: 'orders.whole', headers: { source: 'shop ü' } }
      const result = await run(target, { payload: { a: 'ü' }, tenant: 'Bücher AG', traceparent })
      const [message] = await readMessages(kafka, 'orders.whole', 1)
      expect(message).toEqual({
        ...{ partition: result.partition, offset: 0, key: context.jobId, value: '{"a":"ü"}' },
        headers: {
          ...{ source: 'shop ü', 'carillon-execution-id': context.executionId, 'carillon-job-id': context.jobId },
          ...{ 'carillon-tenant': 'B%C3%BCcher%20AG', 'carillon-attempt': '2', 'carillon-fence': '77' },
          ...{ 'carillon-scheduled-for': '2030-01-01T00:00:00.000Z', traceparent },
        },
      })
      expect(result.offset).toBe(0)
      expect(log).toEqual([expect.stringMatching(/^main\/orders\.whole: partition \d, offset 0 after \d+ ms$/)])
    })

    it('of a step without a payload has what it is given of its run as its value', async () => {
      await admin.create('orders.steps')
      const dag = { runId: context.jobId, step: 'tell', itemIndex: null, payload: { day: 1 }, results: { load: 3 } }
      await run({ topic: 'orders.steps' }, { dag: { ...dag, states: { load: 'SUCCEEDED' } } })
      const [message] = await readMessages(kafka, 'orders.steps', 1)
      expect(message!.headers).toMatchObject({ 'carillon-run-id': context.jobId, 'carillon-step': 'tell' })
      expect(JSON.parse(message!.value)).toEqual({
        ...{ runId: context.jobId, step: 'tell', payload: { day: 1 } },
        ...{ results: { load: 3 }, states: { load: 'SUCCEEDED' } },
      })
    })

    it('goes to the partition that Java’s producer would choose', async () => {
      // Of Kafka's own tests: murmur2("21") is -973932308.
      await admin.create('orders.three', { partitions: 3 })
      const hash = -973_932_308 & 0x7fffffff
      expect(await run({ topic: 'orders.three', key: '21' })).toEqual({ partition: hash % 3, offset: 0 })
      expect(await run({ topic: 'orders.three', key: '21' })).toEqual({ partition: hash % 3, offset: 1 })
    })

    it('is written once, however many are under way and whatever fails beside it', async () => {
      await admin.create('orders.many', { partitions: 3, maxBytes: 2_000 })
      const expected: { n: number; partition: number; offset: number }[] = []
      let next = 0
      const publishInTurn = async () => {
        while (next < 600) {
          const n = next++
          const large = n % 10 === 0
          const target = { topic: 'orders.many', key: `${n}` }
          const published = run(target, { payload: { n, ...(large && { text: 'x'.repeat(5_000) }) } })
          if (large) expect(await thrown(published)).toBeInstanceOf(PermanentError)
          else expected.push({ n, ...(await published) })
        }
      }
      await Promise.all(Array.from({ length: 32 }, publishInTurn))
      expected.sort((a, b) => a.n - b.n)
      expect(expected).toHaveLength(540)
      const read = await readMessages(kafka, 'orders.many', expected.length)
      const found = read.map(({ value, partition, offset }) => ({ ...JSON.parse(value), partition, offset }))
      expect(found.sort((a, b) => a.n - b.n)).toEqual(expected)
      const end = await run({ topic: 'orders.many', key: `${expected[0]!.n}` })
      const there = expected.filter(({ partition }) => partition === end.partition)
      expect(end.offset).toBe(there.length)
    })
  })

  describe('a failure', () => {
    it('for a topic that is missing is retried, and creates none', async () => {
      const error = await thrown(run({ topic: 'orders.missing' }))
      expect(error).toBeInstanceOf(TargetFailed)
      expect(error.message).toBe('main has no topic orders.missing')
      expect(await admin.topics()).not.toContain('orders.missing')
      await admin.create('orders.missing')
      expect(await run({ topic: 'orders.missing' })).toEqual({ partition: 0, offset: 0 })
    })

    it('for a message that is too large is permanent', async () => {
      await admin.create('orders.small', { maxBytes: 1_000 })
      const error = await thrown(run({ topic: 'orders.small' }, { payload: 'x'.repeat(3_000) }))
      expect(error).toBeInstanceOf(PermanentError)
      expect(error.message).toBe('the message is larger than orders.small takes (MESSAGE_TOO_LARGE)')
      expect(await run({ topic: 'orders.small' })).toEqual({ partition: 0, offset: 0 })
    })

    it('for want of rights is permanent', async () => {
      await admin.create('orders.closed')
      await admin.deny('orders.closed')
      // The broker answers before the rule holds.
      await until(
        async () => (await thrown(run({ topic: 'orders.closed' })).catch(() => null)) instanceof PermanentError,
      )
      const error = await thrown(run({ topic: 'orders.closed' }))
      expect(error).toBeInstanceOf(PermanentError)
      expect(error.message).toBe(
        'main does not let this node’s account write to orders.closed (TOPIC_AUTHORIZATION_FAILED)',
      )
    })

    it('of the node’s own password is retried, and does not show it', async () => {
      await using stack = new AsyncDisposableStack()
      const wrong = await openRunner(clusterUrl(kafka, { username: 'writer', password: 'not-the-password' }))
      stack.defer(() => wrong.stop())
      const error = await thrown(run({ topic: 'orders.first' }, {}, wrong))
      expect(error).toBeInstanceOf(TargetFailed)
      expect(error.message).toBe('main does not accept this node’s user and password')
      expect(`${error.stack}${log}`).not.toContain('not-the-password')
    })

    it('of what is not on this node’s list is retried: another node may have it', async () => {
      expect(await thrown(run({ topic: 'billing' }))).toBeInstanceOf(TargetFailed)
      expect(await thrown(run({ cluster: 'other', topic: 'orders.first' }))).toBeInstanceOf(TargetFailed)
      expect(await thrown(run({ topic: '__consumer_offsets' }))).toBeInstanceOf(PermanentError)
    })
  })

  it('an attempt ends in its time, and at once if it is aborted, though the broker does not answer', async () => {
    await using stack = new AsyncDisposableStack()
    const hurried = await openRunner(clusterUrl(kafka), 1.5)
    stack.defer(() => hurried.stop())
    await run({ topic: 'orders.first' })
    await run({ topic: 'orders.first' }, {}, hurried)
    process.kill(kafka.pid, 'SIGSTOP')
    try {
      // With a connection from before, and with one that is not answered even when it says who we are.
      for (const _ of ['before', 'new']) {
        const late = await thrown(run({ topic: 'orders.first' }, {}, hurried))
        expect(late).toBeInstanceOf(TargetFailed)
        expect(late.message).toMatch(/^no answer from main /)
      }
      const controller = new AbortController()
      const running = thrown(run({ topic: 'orders.first' }, { signal: controller.signal }))
      controller.abort(new Error('cancelled'))
      expect(await running).toMatchObject({ message: 'cancelled' })
      expect(await thrown(run({ topic: 'orders.first' }, { signal: controller.signal }))).toMatchObject({
        message: 'cancelled',
      })
    } finally {
      process.kill(kafka.pid, 'SIGCONT')
    }
    await run({ topic: 'orders.first' })
  })

  describe('a job', () => {
    let stage: Stage
    beforeAll(async () => {
      stage = await openStage({ http: false, kafka: { main: { url: clusterUrl(kafka), topics: ['orders.*'] } } })
    })
    afterAll(() => stage[Symbol.asyncDispose]())

    it('is refused when it is created if the operator does not allow its topic', async () => {
      await expect(stage.submit({ kafka: { topic: 'billing' } })).rejects.toMatchObject({
        code: 'TARGET_NOT_ALLOWED',
        errors: [{ pointer: '/target/kafka/topic', hint: 'Allowed are orders.*' }],
      })
      await expect(stage.submit({ lambda: { functionArn: 'arn' } })).rejects.toMatchObject({
        code: 'TARGET_NOT_ALLOWED',
        errors: [{ pointer: '/target/lambda' }],
      })
    })

    it('publishes its payload, numbers as they were written', async () => {
      await admin.create('orders.exact')
      const payload = '{"id":9007199254740993,"price":1.10}'
      const owner = { tenant: 'acme', actor: 'a person' }
      const input = { type: 'ONE_SHOT' as const, target: { kafka: { topic: 'orders.exact', key: 'k' } } }
      const { job } = await stage.engine.submissions.create(owner, input, payload)
      const { result, fence } = await stage.reaches(job.definition.jobId, 'SUCCEEDED')
      expect(JSON.parse(result!)).toEqual({ partition: 0, offset: 0 })
      const [message] = await readMessages(kafka, 'orders.exact', 1)
      expect(message).toMatchObject({ key: 'k', value: payload, headers: { 'carillon-fence': `${fence}` } })
    })

    it('is tried again by its retry policy while the broker is away', async () => {
      await admin.create('orders.away')
      await kafka.kill()
      const retryPolicy = { maxAttempts: 100, backoff: 'FIXED' as const, initialDelayMs: 500, jitter: 0 }
      const id = await stage.submit({ kafka: { topic: 'orders.away' } }, { retryPolicy }, { n: 1 })
      await until(async () => (await stage.read(id)).attempt >= 2)
      expect((await stage.read(id)).error).toMatchObject({
        name: 'TargetFailed',
        message: 'no answer from main (ECONNREFUSED)',
      })
      await kafka.restart()
      await until(async () => (await stage.read(id)).state === 'SUCCEEDED', 30_000)
      const read = await readMessages(kafka, 'orders.away', 1)
      expect(read).toMatchObject([{ value: '{"n":1}', headers: { 'carillon-execution-id': id } }])
    }, 120_000)
  })
})
