import { expect, it } from 'vitest'
import { countSeconds, type SecondRow } from './seconds.ts'

const time = { from: 10_000, to: 14_000 }

function row(at: number, count = 1): SecondRow {
  return { jobId: 'j', at: at * 1_000, last: (at + count - 1) * 1_000, count }
}

function counts(rows: SecondRow[]): { missed: number; doubled: number } {
  const { missed, doubled } = countSeconds(rows, time)
  return { missed: missed.length, doubled: doubled.length }
}

it.each<[string, SecondRow[], { missed: number; doubled: number }]>([
  ['each second has its row', [10, 11, 12, 13, 14].map((at) => row(at)), { missed: 0, doubled: 0 }],
  ['a row stands for three', [row(10), row(11, 3), row(14)], { missed: 0, doubled: 0 }],
  ['others came before', [9, 10, 11, 12, 13, 14].map((at) => row(at)), { missed: 0, doubled: 0 }],
  ['one from before reaches in', [row(8, 4), row(12), row(13), row(14)], { missed: 0, doubled: 0 }],
  ['the first is missing', [row(11), row(12), row(13), row(14)], { missed: 1, doubled: 0 }],
  ['one in the middle is missing', [row(10), row(11), row(13), row(14)], { missed: 1, doubled: 0 }],
  ['the last is missing', [row(10), row(11), row(12), row(13)], { missed: 1, doubled: 0 }],
  ['one is there twice', [row(10), row(11), row(11), row(12), row(13), row(14)], { missed: 0, doubled: 1 }],
  ['one is skipped and fired', [row(10), row(11, 3), row(12), row(13), row(14)], { missed: 0, doubled: 1 }],
  ['a row stands for fewer than it spans', [row(10), { ...row(11, 3), count: 2 }, row(14)], { missed: 1, doubled: 0 }],
])('%s', (_, rows, expected) => {
  expect(counts(rows)).toEqual(expected)
})
