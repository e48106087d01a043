/**
 * Where the server's words go: to the caller's function, or to `server.log`. The file is the default because the server
 * never waits for it, however busy this process is. It is kept below 16 MiB: what is older moves to `server.log.1`.
 */
import { copyFile, type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Account } from './account.ts'
import { fileTrouble } from './failure.ts'

const LARGEST_BYTES = 16 * 1024 * 1024
const CHECK_EVERY_MS = 600_000
const TAIL_LINES = 30
const TAIL_BYTES = 4_096

export interface ServerLog {
  /** For the server's stdio: a descriptor, or a pipe that is then given to `read`. */
  target: number | 'pipe'
  read(stream: NodeJS.ReadableStream): void
  /** What this server said last. */
  tail(): Promise<string>
  close(): Promise<void>
}

export interface LogOptions {
  dataDir: string
  account: Account | undefined
  log?: (line: string) => void
}

export async function openServerLog({ dataDir, account, log }: LogOptions): Promise<ServerLog> {
  return log ? callbackLog(log) : fileLog(join(dataDir, 'server.log'), account)
}

function callbackLog(log: (line: string) => void): ServerLog {
  const last: string[] = []
  return {
    target: 'pipe',
    read(stream) {
      createInterface({ input: stream }).on('line', (line) => {
        last.push(line)
        if (last.length > TAIL_LINES) last.shift()
        log(line)
      })
    },
    tail: async () => last.join('\n'),
    close: async () => {},
  }
}

async function fileLog(path: string, account: Account | undefined): Promise<ServerLog> {
  try {
    // Appending: a file that is cut while the server holds it goes on at its new end.
    const handle = await open(path, 'a+', 0o600)
    // After a start as root, the owner of the data can still append to the file.
    if (account) await handle.chown(account.uid, account.gid)
    await rotate(handle, path)
    const from = (await handle.stat()).size
    const timer = setInterval(() => void rotate(handle, path).catch(() => {}), CHECK_EVERY_MS).unref()
    return {
      target: handle.fd,
      read() {},
      async tail() {
        const { size } = await handle.stat()
        const start = Math.max(size < from ? 0 : from, size - TAIL_BYTES)
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, start)
        return buffer.toString('utf8', 0, bytesRead).split('\n').slice(-TAIL_LINES).join('\n')
      },
      async close() {
        clearInterval(timer)
        await handle.close()
      },
    }
  } catch (cause) {
    throw fileTrouble('write', path, cause)
  }
}

async function rotate(handle: FileHandle, path: string): Promise<void> {
  if ((await handle.stat()).size < LARGEST_BYTES) return
  await copyFile(path, `${path}.1`)
  await handle.truncate()
}
