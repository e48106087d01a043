/** `carillon events`: follows what happens until it is told to stop. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { carillon, type Started, startCarillon } from './cli.ts'

let on: HttpNode

beforeAll(async () => {
  on = await httpNode()
})
afterAll(() => on?.[Symbol.asyncDispose]())

const yearly = { type: 'CRON', schedule: '0 3 1 1 *', target: { handler: 'h' } }

/** Until it has connected nothing is promised: jobs are created until one is told of. */
async function listening(started: Started): Promise<void> {
  await until(async () => {
    await on.ask('POST /v1/jobs', yearly)
    return started.output().includes('job.created')
  })
}

describe('carillon events', () => {
  it('prints what happens, and leaves in order when it is interrupted', async () => {
    const started = startCarillon(['events', '--url', on.url])
    await listening(started)
    const { body } = await on.ask('POST /v1/jobs', { ...yearly, name: 'yearly', key: 'y' })
    await on.ask(`POST /v1/jobs/${body.jobId}/pause`)
    await until(() => started.output().includes('job.paused'))
    process.kill(started.child.pid!, 'SIGINT')
    const { exitCode, stdout } = await started.ended
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(new RegExp(`job\\.paused +${body.jobId} {2}yearly {2}by anonymous`))
  })

  it('prints JSON lines, of the types and the job that are asked for', async () => {
    const { body } = await on.ask('POST /v1/jobs', { ...yearly, key: 'z' })
    const started = startCarillon([
      'events',
      '--url',
      on.url,
      '--json',
      '--job',
      'z',
      '--type',
      'job.paused,job.resumed',
    ])
    await until(async () => {
      for (const verb of ['pause', 'resume']) await on.ask(`POST /v1/jobs/${body.jobId}/${verb}`)
      // It may begin to listen between the two.
      return ['job.paused', 'job.resumed'].every((type) => started.output().includes(type))
    })
    process.kill(started.child.pid!, 'SIGTERM')
    const { exitCode, json } = await started.ended
    expect(exitCode).toBe(0)
    expect(new Set(json().map(({ type }) => type))).toEqual(new Set(['job.paused', 'job.resumed']))
    expect(json()[0]).toMatchObject({ jobId: body.jobId, tenant: 'default', detail: { key: 'z' } })
  })

  it('says what is wrong', async () => {
    expect((await carillon(['events', '--url', on.url, '--type', 'job.eaten'])).exitCode).toBe(2)
    expect((await carillon(['events', '--url', on.url, '--job', 'none'])).exitCode).toBe(1)
    expect((await carillon(['events', '--url', 'http://127.0.0.1:1'])).exitCode).toBe(3)
  })
})
