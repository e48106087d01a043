/** Opens the ground of a run. See ground.ts for what it is. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { familyMs, machineMs } from '../measure/cpu.ts'
import { Children } from './children.ts'
import { startGenerator } from './generator.ts'
import type { Ground } from './ground.ts'
import { openInstallation } from './installation.ts'
import { ScaleOutServers } from './scale-out-servers.ts'
import { type Server, startServer } from './server.ts'
import type { buildTemplate, Template } from './template.ts'

/** This checkout. */
const here = new URL('../../', import.meta.url)

export interface OpenGround extends Ground {
  postgresVersion: string
}

/** `historyRows`: finished executions in every installation. */
export async function openGround(options: { historyRows: number; progress(text: string): void }): Promise<OpenGround> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-bench-'))
  const children = new Children(folder)
  const scaleOut = new ScaleOutServers(folder)
  let server: Server
  try {
    server = await startServer(folder)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  const templates = new Map<string, Promise<Template>>()
  let databases = 0
  let closed: Promise<void> | null = null

  const templateOnce = (checkout: URL) => {
    let template = templates.get(checkout.href)
    if (template === undefined) {
      options.progress(`laying ${options.historyRows.toLocaleString('en-US')} finished executions in 30 partitions`)
      template = templateOf(checkout, server, {
        rows: options.historyRows,
        name: `carillon_template_${templates.size}`,
      })
      templates.set(checkout.href, template)
    }
    return template
  }
  const close = async () => {
    await children.endAll()
    await scaleOut.stop()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }

  return {
    serverUrl: server.url,
    postgresVersion: server.version,
    folder,
    get broken() {
      return children.broken
    },
    async clear() {
      await children.endAll()
      await scaleOut.stop()
    },
    scaleOut: () => scaleOut.start(),
    async installation(wanted = {}) {
      const name = `carillon_${++databases}`
      const { checkout = here } = wanted
      return openInstallation({ server, children, template: await templateOnce(checkout), checkout, name }, wanted)
    },
    async emptyDatabase() {
      const name = `peer_${++databases}`
      const url = await server.create(name)
      return { url, [Symbol.asyncDispose]: () => server.drop(name) }
    },
    generate: (module, load) => startGenerator(children, module, load),
    start(role, program, load) {
      if (role === 'postgres') throw new Error('PostgreSQL is started already')
      return children.start(role, program, load)
    },
    async cpu() {
      const [ours, postgres, servers, machine] = await Promise.all([
        children.cpu(),
        familyMs(server.pid),
        scaleOut.cpu(),
        machineMs(),
      ])
      const { user, system } = process.cpuUsage()
      const roles = { ...ours, postgres, ...servers, generator: ours.generator + (user + system) / 1_000 }
      const known = Object.values(roles).reduce((sum, ms) => sum + ms, 0)
      return { ...roles, other: machine - known }
    },
    [Symbol.asyncDispose]() {
      closed ??= close()
      return closed
    },
  }
}

/** Every version of Carillon lays its own tables, on the server of this one. */
async function templateOf(
  checkout: URL,
  server: Server,
  { rows, name }: { rows: number; name: string },
): Promise<Template> {
  const module = (await import(new URL('bench/ground/template.ts', checkout).href)) as {
    buildTemplate: typeof buildTemplate
  }
  const template = await module.buildTemplate({ ...server, create: () => server.create(name) }, rows)
  return { ...template, database: name }
}
