import type { Command } from 'commander'
import { carryOut } from '../apply/carry-out.ts'
import { parseManifest, refuseIfWrong } from '../apply/manifest.ts'
import { changesOf, planOf, refusedByNode } from '../apply/plan.ts'
import { planDocument, showPlan } from '../apply/show-plan.ts'
import { act, type Context } from '../context.ts'
import { readText } from '../files.ts'

/** `carillon apply -f carillon.yaml`: creates and changes jobs and graphs so that the node matches the file. */
export function registerApply(program: Command): void {
  program
    .command('apply')
    .description(
      'make the jobs, graphs, limits, pools and tenants be what a file says; shows what would change, and asks',
    )
    .requiredOption('-f, --file <path>', 'YAML or JSON; - is stdin')
    .option('--prune', 'delete jobs and graphs that this file managed and no longer names')
    .option('--dry-run', 'only show what would change')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      `
Example of a file:
  managedBy: billing
  pools: [batch-etl]
  limits: [{ name: acct, concurrency: 5, rate: { count: 100, perSec: 60 } }]
  jobs:
    - key: invoices
      type: CRON
      schedule: "0 3 * * *"
      timezone: Europe/Berlin
      target: { pool: batch-etl, handler: generate_invoices }
  dags:
    - key: nightly
      steps:
        - { name: extract, target: { handler: extract } }
        - { name: load, target: { handler: load }, dependsOn: [extract] }

A job that is paused stays paused. With a platform token a file can also declare tenants:
  tenants: [{ name: acme, weight: 3 }]
Only what has the file's managedBy is ever deleted.`,
    )
    .action(act(apply))
}

interface ApplyOptions {
  file: string
  prune?: boolean
  dryRun?: boolean
  yes?: boolean
}

async function apply({ node, out, now }: Context, options: ApplyOptions): Promise<void> {
  const { file, prune = false, dryRun = false } = options
  const { checkDag, checkJob, checkLimit } = await import('@carillon/server/administration')
  const source = await readText(file)
  const { manifest, problems } = parseManifest(source, file === '-' ? 'stdin' : file, {
    job: (job) => checkJob(job, now()),
    dag: (dag) => checkDag(dag, now()),
    limit: checkLimit,
  })
  // Problems found by the node are reported too; if it cannot be reached, only ours.
  const more = await refusedByNode(node, manifest).catch((error: unknown) => {
    if (problems.length > 0) return []
    throw error
  })
  refuseIfWrong(manifest, [...problems, ...more])
  const plan = await planOf(node, manifest)
  showPlan(out, plan, { prune })
  const changes = changesOf(plan, prune)
  if (!dryRun && changes > 0) {
    await out.confirm('Apply this?', options.yes)
    await carryOut(node, out, plan, { prune })
    out.line('Done.')
  }
  out.document({ ...planDocument(plan, prune), applied: !dryRun })
}
