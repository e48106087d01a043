import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bigints, booleans, integers, jsonbs, smallints, texts, uuids } from '../../packages/server/src/store/arrays.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let home: TestDatabase
let client: pg.Client

beforeAll(async () => {
  home = await createDatabase()
  client = new pg.Client(home.url)
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await home.drop()
})

/** What the server takes the parameter for, as JSON. */
async function understood(type: string, parameter: Buffer | null): Promise<unknown> {
  const { rows } = await client.query(`select to_json($1::${type}[]) as value`, [parameter])
  return rows[0].value
}

const ids = ['00000000-0000-0000-0000-000000000000', '01a2b3c4-d5e6-8f70-9a8b-7c6d5e4f3a2b']
const words = ['', 'a"b\\c{}', 'ü€😀', 'NULL', '\n']

it('writes what the server reads', async () => {
  expect(await understood('uuid', uuids([...ids, null]))).toEqual([...ids, null])
  expect(await understood('uuid', uuids(['01A2B3C4-D5E6-8F70-9A8B-7C6D5E4F3A2B']))).toEqual([ids[1]])
  const large = [0, -1, 2 ** 31, 2 ** 32, -(2 ** 33) - 5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, null]
  expect(await understood('bigint', bigints(large))).toEqual(large)
  expect(await understood('int', integers([1, -2, 2 ** 31 - 1, null]))).toEqual([1, -2, 2 ** 31 - 1, null])
  expect(await understood('smallint', smallints([null, 3, -4]))).toEqual([null, 3, -4])
  expect(await understood('boolean', booleans([true, false, null]))).toEqual([true, false, null])
  expect(await understood('text', texts([...words, null]))).toEqual([...words, null])
  const documents = [{ a: [1, 'ü'] }, [], 'x', 1, null]
  expect(await understood('jsonb', jsonbs(documents.map((each) => JSON.stringify(each))))).toEqual(documents)
})

it('knows the empty array, and takes one of nothing but nulls for null', async () => {
  expect(await understood('uuid', uuids([]))).toEqual([])
  expect(await understood('text', texts([]))).toEqual([])
  expect(texts([null, null])).toBeNull()
  const { rows } = await client.query('select * from unnest($1::int[], $2::text[]) u(a, b)', [
    integers([1, 2]),
    texts([null, null]),
  ])
  expect(rows).toEqual([
    { a: 1, b: null },
    { a: 2, b: null },
  ])
})

it('refuses what is no id', () => {
  expect(() => uuids(['1234'])).toThrow('1234 is not an id')
})
