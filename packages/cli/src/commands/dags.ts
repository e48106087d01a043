import { type Dag, type DagInput, dagStates } from '@carillon/contract'
import { type Command, Option } from 'commander'
import { act, type Context } from '../context.ts'
import { dagColumns, showDag } from '../dag-views.ts'
import { label, labelQuery } from '../execution-filter.ts'
import { readYamlObject } from '../files.ts'
import { limitOption, list } from '../pages.ts'
import { addRunOptions, type RunOptions, runInputOf, started } from '../run-options.ts'

/** `carillon dags …`: graphs of steps. Their runs are `carillon dag-runs …`. */
export function registerDags(program: Command): void {
  const dags = program.command('dags').description('graphs of steps: list, get, create, run, delete')
  dags
    .command('list')
    .description('graphs, newest first')
    .addOption(new Option('--state <state>', 'in this state').choices(dagStates))
    .option('--key <key>', 'with this key')
    .option('--managed-by <name>', 'owned by this manager')
    .option('--label <name=text>', 'with this label; may be repeated', label)
    .option(...limitOption)
    .action(act(listDags))
  dags.command('get <dag>').description('one graph, by id or key, with its steps').action(act(getDag))
  dags
    .command('create')
    .description('create a graph from a file, or change the one with its key')
    .requiredOption('-f, --file <path>', 'the definition as YAML or JSON; - is stdin')
    .option('--idempotency-key <key>', 'the same key creates it once')
    .addHelpText('after', example)
    .action(act(createDag))
  addRunOptions(dags.command('run <dag>')).description('start a run of a graph, by id or key').action(act(runDag))
  dags
    .command('delete <dag>')
    .description('delete it: it takes no more runs; those under way go on')
    .action(act(deleteDag))
}

const example = `
Example of a file:
  key: nightly
  steps:
    - { name: extract, target: { handler: extract } }
    - { name: load, target: { handler: load }, dependsOn: [extract] }
    - { name: tell, target: { handler: tell }, dependsOn: [load], runIf: ALL_DONE, allowFailure: true }`

interface ListOptions {
  state?: Dag['state']
  key?: string
  managedBy?: string
  label?: Record<string, string>
  limit: number
}

async function listDags(context: Context, options: ListOptions): Promise<void> {
  const { limit, label: labels, ...filter } = options
  const query = { ...filter, ...(labels && { label: labelQuery(labels) }) }
  const { items, more } = await list(limit, (page) => context.node.call('listDags', { query: { ...query, ...page } }))
  context.out.table(items, dagColumns(context), 'No graphs. Create one: carillon dags create --help')
  if (more) context.out.note(`There are more: --limit ${limit * 10}`)
}

async function getDag(context: Context, _: unknown, dagId: string): Promise<void> {
  showDag(context, await context.node.call('getDag', { params: { dagId } }))
}

async function createDag(context: Context, options: { file: string; idempotencyKey?: string }): Promise<void> {
  const { file, idempotencyKey } = options
  const body = (await readYamlObject(file, {
    what: 'graph',
    hint: 'Give the fields of one graph; for several: carillon apply',
  })) as DagInput
  const dag = await context.node.call('createDag', { body, headers: { 'idempotency-key': idempotencyKey } })
  showDag(context, dag)
  context.out.note(`Run it: carillon dags run ${dag.key ?? dag.dagId} --watch`)
}

async function runDag(context: Context, options: RunOptions, dagId: string): Promise<void> {
  const body = await runInputOf(options)
  const headers = { 'idempotency-key': options.idempotencyKey }
  await started(context, await context.node.call('runDag', { params: { dagId }, body, headers }), options)
}

async function deleteDag({ node, out }: Context, _: unknown, dagId: string): Promise<void> {
  await node.call('deleteDag', { params: { dagId } })
  out.document({ dagId, deleted: true })
  out.line(`Deleted ${dagId}`)
}
