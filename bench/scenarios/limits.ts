/**
 * What limits cost, by the load of `life`, CPU of node and PostgreSQL in turns: without any that is declared; with one for each
 * tenant, which nobody names; and with one key for each execution, of 1,000 that are never full.
 *
 * Beside another checkout (the commit before limits), instead of these: what executions without limits cost in both.
 */

import type { Installation } from '../ground/ground.ts'
import { lifeBeside, livesInTurns, ratioOf } from '../measure/cpu-of-life.ts'
import type { Result, Scenario } from '../scenario.ts'

const targets = { beside: 1.02, withKeys: 1.25 }

export const scenario: Scenario = {
  name: 'limits',
  summary: 'CPU of an execution with a limit beside one without',
  limitMinutes: 30,
  async run(bench) {
    if (bench.beside !== null) return lifeBeside(bench, bench.beside, { name: 'limits life', target: targets.beside })
    await using without = await bench.ground.installation()
    await using declared = await bench.ground.installation()
    await declare(declared)
    const [none, unnamed, keyed] = (await livesInTurns(
      bench,
      [
        { name: 'limits none declared', installation: without },
        { name: 'limits declared, not named', installation: declared },
        { name: 'limits one key each', installation: declared, limitKeys: 1_000 },
      ],
      bench.size(30, 8),
    )) as [Result, Result, Result]
    return [
      ...[none, unnamed, keyed],
      ratioOf('limits declared, not named / none', [unnamed, none], targets.beside),
      ratioOf('limits one key each / none', [keyed, none], targets.withKeys),
    ]
  },
}

/** By SQL, so that they are each tenant's own; nodes ask every ten seconds whether there are any. */
async function declare({ tenants, query }: Installation): Promise<void> {
  await query(
    `insert into carillon.limits (tenant, name, scope, concurrency) select t, 'acct', 'KEY', 100000 from unnest($1::text[]) t`,
    [tenants],
  )
}
