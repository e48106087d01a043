import { expect, it } from 'vitest'
import { ToldRows } from './told.ts'

const [critical, normal] = [0, 2]
const key = (tag: number, executionId = `e${tag}`, lane = normal) => ({ lane, tag, executionId })
const at = (offset: number, partition = 0) => ({ topic: 't', partition, offset: BigInt(offset) })
const leased = (reached: number, lane = normal) => ({
  ...{ workerId: 'w', lane, reached },
  ...{ count: 1, executions: '' },
})
const ids = (rows: ToldRows) => rows.first(100).map(({ executionId }) => executionId)

it('names the smallest tags of each lane first, whatever the order of the messages was', () => {
  const told = new ToldRows()
  for (const tag of [3, 1, 2]) told.add(key(tag), at(tag))
  told.add(key(9, 'urgent', critical), at(9, 1))
  expect(told.first(2).map(({ executionId }) => executionId)).toEqual(['urgent', 'e1', 'e2'])
})

it('a message that comes twice is named once, and again after it was tried', () => {
  const told = new ToldRows()
  told.add(key(1), at(1))
  told.add(key(1), at(7, 1))
  expect(ids(told)).toEqual(['e1'])
  told.settled(told.first(10), [], true)
  expect(told.size).toBe(0)
  told.add(key(1), at(8, 1))
  expect(ids(told)).toEqual(['e1'])
})

it('what comes while LEASE is under way stays, though LEASE had more slots than it was told of', () => {
  const told = new ToldRows()
  told.add(key(5), at(5))
  const tried = told.first(50)
  told.add(key(2), at(6))
  told.add(key(6), at(7))
  told.settled(tried, [leased(5)], true)
  expect(ids(told)).toEqual(['e2', 'e6'])
  expect(told.unsettled().get('t:0')).toBe(6n)
})

it('of those with the tag that a full LEASE reached, all are tried again', () => {
  const told = new ToldRows()
  told.add(key(1), at(1))
  for (const name of ['a', 'b']) told.add(key(2, name), at(2))
  told.settled(told.first(50), [leased(2)], false)
  expect(ids(told)).toEqual(['a', 'b'])
  told.settled(told.first(50), [], true)
  expect(told.size).toBe(0)
})
