import { readFileSync } from 'node:fs'
import { JobInput } from '@carillon/contract/api'
import { expect, test } from 'vitest'
import { referenceFile, referencePage } from '../scripts/reference.ts'

test('docs/reference.md is what the schemas and settings say; if not, npm run reference', () => {
  expect(readFileSync(referenceFile, 'utf8')).toBe(referencePage())
})

test('every field of a job and every setting has a line, and every setting says what it is', () => {
  const lines = referencePage().split('\n')
  for (const name of Object.keys(JobInput.properties))
    expect(lines.some((line) => line.startsWith(`| \`${name}\``))).toBe(true)
  const settings = lines.slice(lines.indexOf('## Settings of a node')).filter((line) => line.startsWith('| `'))
  expect(settings.filter((line) => /\|\s*\|$/.test(line))).toEqual([])
})
