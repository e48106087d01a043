/** The command line: wires the commands together, and turns how one ended into an exit code. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { Command, CommanderError, Option } from 'commander'
import { registerApply } from './commands/apply.ts'
import { registerAudit } from './commands/audit.ts'
import { registerDagRuns } from './commands/dag-runs.ts'
import { registerDags } from './commands/dags.ts'
import { registerDeadLetters } from './commands/dead-letters.ts'
import { registerDefaults } from './commands/defaults.ts'
import { registerDemo } from './commands/demo.ts'
import { registerDev } from './commands/dev.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerEvents } from './commands/events.ts'
import { registerExecutions } from './commands/executions.ts'
import { registerFailures } from './commands/failures.ts'
import { registerForecast } from './commands/forecast.ts'
import { registerImport } from './commands/import.ts'
import { registerJobs } from './commands/jobs.ts'
import { registerLimits } from './commands/limits.ts'
import { registerMigrate } from './commands/migrate.ts'
import { registerNext } from './commands/next.ts'
import { registerNodes } from './commands/nodes.ts'
import { registerOperations } from './commands/operations.ts'
import { registerPools } from './commands/pools.ts'
import { registerQuarantine } from './commands/quarantine.ts'
import { registerServe } from './commands/serve.ts'
import { registerStats } from './commands/stats.ts'
import { registerTenants } from './commands/tenants.ts'
import { registerTokens } from './commands/tokens.ts'
import { registerUsage } from './commands/usage.ts'
import { registerVerify } from './commands/verify.ts'
import { registerWorker } from './commands/worker.ts'
import { registerWorkers } from './commands/workers.ts'
import { exitCodes, failureOf, type Negative } from './failure.ts'
import { Output } from './output.ts'

const registrars = [
  ...[
    registerDemo,
    registerDev,
    registerServe,
    registerWorker,
    registerMigrate,
    registerTokens,
    registerDoctor,
    registerAudit,
  ],
  ...[
    registerJobs,
    registerExecutions,
    registerDags,
    registerDagRuns,
    registerDeadLetters,
    registerPools,
    registerLimits,
    registerTenants,
    registerWorkers,
    registerNodes,
    registerOperations,
  ],
  registerQuarantine,
  ...[registerForecast, registerFailures, registerEvents, registerVerify, registerStats, registerUsage],
  ...[registerApply, registerImport, registerNext, registerDefaults],
]

function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(findPackageJSON('.', import.meta.url)!, 'utf8'))
  const program = new Command('carillon')
    .description('A distributed job scheduler on PostgreSQL.')
    .version(version)
    .addOption(
      new Option('--url <urls>', 'nodes to speak to, separated by commas')
        .env('CARILLON_URL')
        .default('http://127.0.0.1:7171'),
    )
    .addOption(new Option('--token <token>', 'API key or JWT').env('CARILLON_TOKEN'))
    .addOption(new Option('--tenant <name>', 'act for this tenant, with a platform token').env('CARILLON_TENANT'))
    .addOption(new Option('--ca <path>', 'PEM file of the CA that signed the nodes’ certificates').env('CARILLON_CA'))
    .option('--json', 'print JSON: one document, or one line for each row of a list', false)
    .option('--no-color', 'no colours (also: NO_COLOR)')
    .option('--verbose', 'with an error, show where it came from', false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  for (const register of registrars) register(program)
  return program.addHelpText(
    'after',
    `
Examples:
  $ carillon dev                                        a node, PostgreSQL and your handlers, in one process
  $ carillon jobs create --handler greet --cron '0 3 * * *' --timezone Europe/Berlin
  $ carillon executions list --state DEAD --from 24h
  $ carillon next '30 2 * * *' --tz America/New_York    when would it fire?

Exit codes:
  0  done                                3  no node or database can be reached
  1  the answer is no (not found, …)     4  not ended within the time given
  2  wrong usage                         5  a defect`,
  )
}

/** Runs the command line of this process; answers its exit code. */
export async function run(): Promise<number> {
  // A reader that has seen enough (`| head`) is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.OK)
    throw error
  })
  const program = createProgram()
  try {
    await program.parseAsync()
    return exitCodes.OK
  } catch (error) {
    if (error instanceof CommanderError && /^commander\.(helpDisplayed|version)$/.test(error.code)) return exitCodes.OK
    // A group without a verb has shown its help.
    if (error instanceof CommanderError && error.code === 'commander.help') return exitCodes.USAGE
    const failure = failureOf(error)
    const { color, verbose } = program.opts<{ color: boolean; verbose: boolean }>()
    const output = new Output({ json: process.argv.includes('--json'), color, verbose })
    if (failure) output.failure(failure, error)
    return failure?.exitCode ?? (error as Negative).exitCode
  }
}
