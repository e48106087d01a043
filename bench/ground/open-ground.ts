/** Opens the ground of a run. See ground.ts for what it is. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { familyMs, machineMs } from '../measure/cpu.ts'
import { Children } from './children.ts'
import { startGenerator } from './generator.ts'
import type { Ground } from './ground.ts'
import { openInstallation } from './installation.ts'
import { type Server, startServer } from './server.ts'
import { buildTemplate, type Template } from './template.ts'

export interface OpenGround extends Ground {
  postgresVersion: string
}

/** `historyRows`: finished executions in every installation. */
export async function openGround(options: { historyRows: number; progress(text: string): void }): Promise<OpenGround> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-bench-'))
  const children = new Children(folder)
  let server: Server
  try {
    server = await startServer(folder)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  let template: Promise<Template> | null = null
  let databases = 0
  let closed: Promise<void> | null = null

  const templateOnce = () => {
    if (template === null) {
      options.progress(`laying ${options.historyRows.toLocaleString('en-US')} finished executions in 30 partitions`)
      template = buildTemplate(server, options.historyRows)
    }
    return template
  }
  const close = async () => {
    await children.endAll()
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
    clear: () => children.endAll(),
    async installation(wanted = {}) {
      const name = `carillon_${++databases}`
      return openInstallation({ server, children, template: await templateOnce(), name }, wanted)
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
      const [ours, postgres, machine] = await Promise.all([children.cpu(), familyMs(server.pid), machineMs()])
      const { user, system } = process.cpuUsage()
      const roles = { ...ours, postgres, generator: ours.generator + (user + system) / 1_000 }
      const { node, worker, generator } = roles
      return { ...roles, other: machine - node - worker - generator - postgres }
    },
    [Symbol.asyncDispose]() {
      closed ??= close()
      return closed
    },
  }
}
