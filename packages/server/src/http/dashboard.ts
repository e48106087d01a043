/**
 * The dashboard: pages built by packages/dashboard, served from memory. They are public and hold no data; what they show
 * they ask the API for, with the token of the person who signed in. Under their policy nothing inline runs, and nothing
 * is loaded from elsewhere.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export interface Asset {
  body: Buffer
  headers: Record<string, string>
}

interface File {
  body: Buffer
  type: string
  /** Its name changes with its content. */
  isImmutable: boolean
  compressed: Map<Encoding, Promise<Buffer>>
}

type Encoding = 'br' | 'gzip'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
const compress = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }) as Promise<Buffer>,
  gzip: (body: Buffer) => promisify(gzip)(body) as Promise<Buffer>,
}

const notBuilt =
  '<!doctype html><html lang="en"><title>Carillon</title><p>The dashboard is not built: run ' +
  '<code>npm run prepare</code> where this node was checked out, then start it again. The API is described at ' +
  '<a href="/docs">/docs</a>.</p></html>'

export class Dashboard {
  readonly #files: ReadonlyMap<string, File>

  constructor(folder: string = builtFolder()) {
    this.#files = filesOf(folder)
  }

  /**
   * A file of the dashboard, or its page, which finds its view by the address itself. Null: nothing of the dashboard is
   * there. `accept` and `acceptEncoding` are the headers of the request.
   */
  async find(path: string, accept = '', acceptEncoding = ''): Promise<Asset | null> {
    const file = this.#files.get(path)
    if (file) return shown(file, acceptEncoding)
    const isPage = path === '/' || (accept.includes('text/html') && !/^\/(v1|assets|docs)(\/|$)/.test(path))
    return isPage ? shown(this.#files.get('/index.html')!, acceptEncoding) : null
  }
}

async function shown(file: File, acceptEncoding: string): Promise<Asset> {
  const { body, type, isImmutable, compressed } = file
  const encoding = (['br', 'gzip'] as const).find((each) => acceptEncoding.includes(each))
  const headers = {
    'content-type': type,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
    vary: 'accept-encoding',
  }
  if (encoding === undefined) return { body, headers }
  const smaller = compressed.get(encoding) ?? compress[encoding](body)
  compressed.set(encoding, smaller)
  return { body: await smaller, headers: { ...headers, 'content-encoding': encoding } }
}

function filesOf(folder: string): Map<string, File> {
  const files = new Map<string, File>()
  for (const name of namesIn(folder)) {
    const type = types[extname(name)]
    if (type === undefined) continue
    const path = `/${name.replaceAll('\\', '/')}`
    files.set(path, fileOf(readFileSync(join(folder, name)), type, path.startsWith('/assets/')))
  }
  if (!files.has('/index.html')) files.set('/index.html', fileOf(Buffer.from(notBuilt), types['.html']!, false))
  return files
}

function fileOf(body: Buffer, type: string, isImmutable: boolean): File {
  return { body, type, isImmutable, compressed: new Map() }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return []
    throw error
  }
}

function builtFolder(): string {
  return join(fileURLToPath(import.meta.resolve('@carillon/dashboard/package.json')), '..', 'dist')
}
