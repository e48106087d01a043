/**
 * Apache Kafka in KRaft mode, one broker that is its own controller, on Java 17. It comes from Maven Central with the first start, 43 MB,
 * into `.cache/kafka`.
 */
import { execFile } from 'node:child_process'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, type RunningServer, type ServerOptions, startProgram } from './process.ts'

const run = promisify(execFile)
const pom = fileURLToPath(new URL('./kafka/pom.xml', import.meta.url))
const jars = fileURLToPath(new URL('../../.cache/kafka/4.1.0', import.meta.url))
const clusterId = 'Y2FyaWxsb24ta2Fma2EtMQ'

export interface KafkaOptions extends ServerOptions {
  /** More listeners than the one of its URL, by name. */
  listeners?: Record<string, KafkaListener>
  /** More of its settings, or others. */
  properties?: Record<string, string>
  /** More arguments of the command that formats its storage, such as `['--add-scram', …]`. */
  format?: string[]
}

export interface KafkaListener {
  protocol: 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
  port: number
  /** Where clients are told to connect to; `port` unless given. */
  advertisedPort?: number
}

export async function startKafka(options: KafkaOptions = {}): Promise<RunningServer> {
  await installKafka()
  const { listeners = {}, properties = {}, format = [] } = options
  const controller = await freePort()
  return startProgram(
    {
      name: 'kafka',
      install: 'install Java 17 and Maven (apt-get install openjdk-17-jre-headless maven)',
      async command({ folder, port, signal }) {
        const file = join(folder, 'server.properties')
        if (!(await isThere(file))) {
          const all = { ...propertiesOf({ folder, port, controller, listeners }), ...properties }
          const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`)
          await writeFile(file, lines.join(''))
          const args = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', file, ...format]
          await run('java', [...javaArgs, ...args], { cwd: folder, signal })
        }
        return { file: 'java', args: [...javaArgs, 'kafka.Kafka', file] }
      },
      url: (port) => `kafka://127.0.0.1:${port}`,
      probe: (port) =>
        new Promise((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => {
            socket.destroy()
            resolve()
          })
          socket.once('error', reject)
        }),
      readyWithinMs: 60_000,
    },
    options,
  )
}

const javaArgs = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${jars}/*`]

/** Does nothing if it is there. */
export async function installKafka(): Promise<void> {
  if (await isThere(jars)) return
  const coming = `${jars}.${process.pid}`
  await mkdir(coming, { recursive: true })
  try {
    await run('mvn', ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${coming}`])
    await rename(coming, jars)
  } catch (error) {
    await rm(coming, { recursive: true, force: true })
    if (await isThere(jars)) return
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new Error('kafka cannot be fetched without Maven: apt-get install maven', { cause: error })
  }
}

interface Place {
  folder: string
  port: number
  controller: number
  listeners: Record<string, KafkaListener>
}

function propertiesOf({ folder, port, controller, listeners }: Place): Record<string, string | number | string[]> {
  const all = Object.entries({ PLAINTEXT: { protocol: 'PLAINTEXT', port }, ...listeners } as Place['listeners'])
  const protocols = all.map(([name, { protocol }]) => `${name}:${protocol}`)
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: [
      ...all.map(([name, each]) => `${name}://127.0.0.1:${each.port}`),
      `CONTROLLER://127.0.0.1:${controller}`,
    ],
    'advertised.listeners': all.map(([name, each]) => `${name}://127.0.0.1:${each.advertisedPort ?? each.port}`),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': [...protocols, 'CONTROLLER:PLAINTEXT'],
    'log.dirs': join(folder, 'logs'),
    'num.partitions': 4,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 4,
    'group.initial.rebalance.delay.ms': 0,
    // Short, so that one that was killed is back soon: it waits until its own session of before has ended.
    'broker.session.timeout.ms': 2_000,
    'broker.heartbeat.interval.ms': 500,
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
