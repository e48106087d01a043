/**
 * URLs of servers that may be several machines: `scheme://user:password@host:1,host:2/path?name=value`. The URL of the platform
 * knows one host only.
 */
import { CarillonError } from '@carillon/contract'

export interface ServerUrl {
  scheme: string
  hosts: { host: string; port: number }[]
  user: string | null
  password: string | null
  /** Without the slash; empty: none. */
  path: string
  parameters: Record<string, string>
}

export interface ServerUrlForm {
  /** The setting it comes from, for errors; dots lead into it. */
  setting: string
  schemes: readonly string[]
  defaultPort: number
  /** Parameters it may have. */
  parameters: readonly string[]
  example: string
}

const form = /^([a-z][a-z0-9+]*):\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/

export function parseServerUrl(text: string, wanted: ServerUrlForm): ServerUrl {
  const [matched, scheme, user, password, hosts, path = '', query = ''] = form.exec(text) ?? []
  if (matched === undefined || !wanted.schemes.includes(scheme!)) {
    throw invalid(wanted, `is not a URL with ${wanted.schemes.map((each) => `${each}://`).join(' or ')}`)
  }
  const parameters = Object.fromEntries(new URLSearchParams(query))
  for (const name of Object.keys(parameters)) {
    if (wanted.parameters.includes(name)) continue
    const known = wanted.parameters.join(', ')
    throw invalid(wanted, `has the parameter ${name}, which is none of ${known}`)
  }
  return {
    scheme: scheme!,
    hosts: hosts!.split(',').map((each) => hostOf(each, wanted)),
    user: user === undefined ? null : decoded(user, wanted),
    password: password === undefined ? null : decoded(password, wanted),
    path: decoded(path, wanted),
    parameters,
  }
}

function hostOf(text: string, wanted: ServerUrlForm): { host: string; port: number } {
  const [matched, host, port] = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (matched === undefined || Number(port ?? 1) > 65_535)
    throw invalid(wanted, `has "${text}", which is no host and port`)
  return { host: host!, port: port === undefined ? wanted.defaultPort : Number(port) }
}

function decoded(text: string, wanted: ServerUrlForm): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(wanted, 'has a % that is not followed by two hexadecimal digits')
  }
}

/** Without the URL itself: it may hold a password. */
function invalid({ setting, example }: ServerUrlForm, message: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', {
    pointer: `/${setting.replaceAll('.', '/')}`,
    message: `${setting} ${message}`,
    hint: example,
  })
}
