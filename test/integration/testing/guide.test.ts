/** The examples of docs/guides/testing.md are tests: they are run as they stand. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/testing.md'), 'utf8')
const examples = [...guide.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!)
if (examples.length === 0) throw new Error('the guide has no examples any more')

for (const [i, code] of examples.entries()) {
  // Beside the packages, so that their names are found.
  const file = join(import.meta.dirname, `guide-example-${process.pid}-${i}.ts`)
  writeFileSync(file, code)
  try {
    await import(file)
  } finally {
    rmSync(file)
  }
}
