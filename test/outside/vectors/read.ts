import { readFileSync } from 'node:fs'

/** The lines of a file of vectors, each cut at its bars. */
export function readVectors(name: string): string[][] {
  const lines = readFileSync(new URL(name, import.meta.url), 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('|').map((part) => part.trim()))
}
