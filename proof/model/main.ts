/**
 * Compares Carillon with the oracle for as long as wanted:
 *
 *   node proof/model/main.ts [--steps 20000] [--seed 1]
 *
 * Passes if both said and did the same after every step, and everything that can happen has happened. The seed is printed:
 * with it the run repeats to the letter. A difference is shown with the fewest steps found that lead to one.
 */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createDatabase, startPostgres18 } from '../../test/support/postgres.ts'
import { Rig } from './rig.ts'
import { missing, run } from './run.ts'
import { shrink, storyOf } from './shrink.ts'

const { values } = parseArgs({ options: { steps: { type: 'string' }, seed: { type: 'string' } } })
const steps = wholeNumber('steps', values.steps ?? '20000')
const seed = wholeNumber('seed', values.seed ?? String(randomInt(1_000_000_000)))
const shrinkMs = 60_000

const server = await startPostgres18()
// Whoever interrupts it leaves nothing running behind.
const stop = () => void server.stop().finally(() => process.exit(130))
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
try {
  process.exitCode = (await judge(server.url)) ? 0 : 1
} finally {
  await server.stop()
}

async function judge(url: string): Promise<boolean> {
  console.log(`seed ${seed}, ${steps} steps`)
  const rig = new Rig((await createDatabase({ server: url })).url)
  try {
    await rig.install()
    const began = performance.now()
    const onStep = (done: number) => done % 1_000 === 0 && console.log(`${done} steps`)
    const outcome = await run(rig, { seed, steps, onStep })
    if (outcome.difference) {
      console.log(`a difference after ${outcome.steps.length} steps: ${outcome.difference.message}`)
      console.log('looking for fewer steps …')
      const shorter = await shrink(rig, outcome, { withinMs: shrinkMs, now: () => performance.now() })
      console.log(storyOf(shorter))
      if (shorter.difference?.cause) console.log(shorter.difference.cause)
      console.log(`repeat it with --seed ${seed} --steps ${outcome.steps.length}`)
      return false
    }
    const never = missing(outcome)
    if (never.length > 0) console.log(`never happened: ${never.join('; ')}`)
    console.log(`no difference in ${outcome.steps.length} steps, ${Math.round((performance.now() - began) / 1_000)} s`)
    return never.length === 0
  } finally {
    await rig.end()
  }
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  console.log(`--${name} must be a whole number, not ${text}`)
  process.exit(2)
}
