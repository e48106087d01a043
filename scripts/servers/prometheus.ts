/** Prometheus as Debian packages it (`apt-get install prometheus`): scrapes one target with the rules of deploy/. */
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RunningServer, startProgram } from './process.ts'

const host = '127.0.0.1'
const deploy = new URL('../../deploy/prometheus/', import.meta.url)

/** With the configuration of deploy/prometheus, but for its target and how often it looks. */
export function startPrometheus(target: { host: string }): Promise<RunningServer> {
  return startProgram({
    name: 'prometheus',
    install: 'apt-get install --no-install-recommends prometheus',
    url: (port) => `http://${host}:${port}`,
    readyWithinMs: 20_000,
    async command({ folder, port }) {
      const shipped = await readFile(new URL('prometheus.yml', deploy), 'utf8')
      const file = join(folder, 'prometheus.yml')
      await writeFile(
        file,
        shipped.replace('127.0.0.1:9464', target.host).replaceAll(/_interval: 15s/g, '_interval: 1s'),
      )
      await copyFile(new URL('rules.yml', deploy), join(folder, 'rules.yml'))
      const own = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`]
      return { file: 'prometheus', args: [...own, `--web.listen-address=${host}:${port}`] }
    },
    async probe(port) {
      const { ok, status } = await fetch(`http://${host}:${port}/-/ready`)
      if (!ok) throw new Error(`answered ${status}`)
    },
  })
}
