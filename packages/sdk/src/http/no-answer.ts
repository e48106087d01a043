/** Why a node gave no answer, in words that say what to do. TLS mistakes have names of their own. */
import { CarillonError, type ErrorDetail } from '@carillon/contract'

/** A node gave no answer of its own. */
export class NoAnswer extends Error {
  readonly error: CarillonError
  /** The request cannot have reached the node. */
  readonly untaken: boolean
  /** The node did not answer in time; it may still be running. */
  readonly silent: boolean

  constructor(error: CarillonError, { untaken = false, silent = false } = {}) {
    super(error.message)
    this.error = error
    this.untaken = untaken
    this.silent = silent
  }
}

/** Connection errors. */
const unreachable = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

const trustHint =
  'Name the CA that signed it: tls: { ca } in a program, --ca or NODE_EXTRA_CA_CERTS on the command line'

/** By the code of the driver's error. */
const tlsTroubles: Record<string, ErrorDetail> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: { message: 'its certificate is self-signed', hint: trustHint },
  SELF_SIGNED_CERT_IN_CHAIN: { message: 'its certificate is signed by a CA that is not trusted here', hint: trustHint },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    message: 'its certificate is signed by a CA that is not trusted here',
    hint: trustHint,
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    message: 'its certificate is signed by a CA that is not trusted here',
    hint: trustHint,
  },
  CERT_HAS_EXPIRED: { message: 'its certificate has expired', hint: 'Renew it at the node' },
  CERT_NOT_YET_VALID: { message: 'its certificate is not valid yet', hint: 'Compare the clocks of both machines' },
  ERR_SSL_WRONG_VERSION_NUMBER: { message: 'it does not speak TLS', hint: 'Write http:// instead of https://' },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: { message: 'it does not speak TLS', hint: 'Write http:// instead of https://' },
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: { message: 'it accepts no TLS version that is known here' },
}

export function noAnswer(url: string, thrown: unknown): Error {
  const { code = '', message = '' } = thrown as { code?: string; message?: string }
  const options = { cause: thrown }
  if (code === 'UND_ERR_INVALID_ARG') {
    return new CarillonError('CONFIG_INVALID', `The request cannot be sent: ${message}`, options)
  }
  const trouble = tlsTroubleOf(url, code, thrown)
  if (trouble !== null) {
    const detail = { message: `${url} cannot be used: ${trouble.message}`, hint: trouble.hint }
    return new NoAnswer(new CarillonError('UNAVAILABLE', detail, options), { untaken: true })
  }
  const detail: ErrorDetail = { message: `${url} gave no answer: ${message || code}` }
  if (url.startsWith('http:') && (/^(HPE_|UND_ERR_SOCKET$|ECONNRESET$)/.test(code) || /Expected HTTP/.test(message))) {
    detail.hint = 'If the node speaks TLS, write https:// instead of http://'
  }
  const error = new CarillonError('UNAVAILABLE', detail, options)
  return new NoAnswer(error, { untaken: unreachable.has(code), silent: code === 'UND_ERR_CONNECT_TIMEOUT' })
}

function tlsTroubleOf(url: string, code: string, thrown: unknown): ErrorDetail | null {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (thrown as { cert?: { subjectaltname?: string } }).cert?.subjectaltname ?? 'another name'
    return {
      message: `its certificate is for ${names.replaceAll('DNS:', '').replaceAll('IP Address:', '')}, not for ${new URL(url).hostname}`,
      hint: 'Use a URL with a name of the certificate',
    }
  }
  return tlsTroubles[code] ?? null
}

/** The errors of all nodes when none could serve. */
export function noneAnswered(errors: readonly CarillonError[]): CarillonError {
  const [first, ...more] = errors
  if (first !== undefined && more.length === 0) return first
  return new CarillonError(
    'UNAVAILABLE',
    errors.flatMap((error) => [...error.errors]),
    { cause: first?.cause },
  )
}
