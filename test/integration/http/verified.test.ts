/** What continuous verification has found, as it is asked for. */
import pg from 'pg'
import { expect, it } from 'vitest'
import { testCarillon } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { carillon } from '../cli/cli.ts'

it('in all and hour by hour; the command exits with 1 if something was found', async () => {
  await using node = await httpNode()
  const client = new pg.Client(node.databaseUrl)
  await client.connect()
  // The verifier has begun, and will not look again for a minute.
  await until(async () => (await client.query('select from carillon.verification')).rowCount === 1)
  await client.query('truncate carillon.verification, carillon.verified_hours')
  const figures = { occurrences: 0, missed: 0, doubled: 0, stuck: 0, wrong: 0, lost: 0, late: 0 }
  const ask = async () => {
    const answer = await node.ask('GET /v1/verified')
    fitsContract('getVerified', answer)
    return answer.body
  }
  expect(await ask()).toEqual({ since: null, until: null, stuckNow: 0, total: figures, hours: [] })
  await client.query(
    `insert into carillon.verification (since, verified_until, occurrences, late)
     values ('2030-01-01 00:00Z', '2030-01-02 01:30Z', 50, 1)`,
  )
  await client.query(
    `insert into carillon.verified_hours (hour, occurrences) values ('2030-01-01 22:00Z', 20), ('2030-01-01 23:00Z', 10),
       ('2030-01-02 01:00Z', 20)`,
  )
  expect(await ask()).toMatchObject({
    ...{
      since: '2030-01-01T00:00:00.000Z',
      until: '2030-01-02T01:30:00.000Z',
      total: { ...figures, occurrences: 50, late: 1 },
    },
    hours: [{ at: '2030-01-01T22:00:00.000Z', ...figures, occurrences: 20 }, { occurrences: 10 }, { occurrences: 20 }],
  })
  const fine = await carillon(['verify', '--history', '--url', node.url])
  expect(fine.exitCode).toBe(0)
  expect(fine.stdout).toMatch(/2030-01-01 +30 +0 /)
  expect(fine.stdout).toMatch(/in all +50 +0 .* 1\n/)
  await client.query('update carillon.verification set missed = 1')
  await client.end()
  expect((await carillon(['verify', '--history', '--json', '--url', node.url])).exitCode).toBe(1)
  expect(await carillon(['verify', '--url', node.url])).toMatchObject({
    ...{ exitCode: 2, stderr: expect.stringContaining('--from is required') },
  })
})

it('in library mode', async () => {
  await using at = await testCarillon()
  expect(await at.carillon.installation.verified()).toMatchObject({ stuckNow: 0, total: { missed: 0 } })
})
