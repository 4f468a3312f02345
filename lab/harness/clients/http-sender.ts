/** What an HTTP request was answered with. */
interface HttpAnswer {
  status: number
  type: string | null
  headers: Headers
  body: Buffer
}

export const PROTOBUF = { 'content-type': 'application/x-protobuf' }
export const JSON_TYPE = { 'content-type': 'application/json' }

/** POSTs a body with exactly the headers given; fetch adds no content-type to bytes. */
export async function post(
  port: number,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array | string,
): Promise<HttpAnswer> {
  return send(port, path, { method: 'POST', headers, body: Buffer.from(body) })
}

export async function send(port: number, path: string, request: RequestInit): Promise<HttpAnswer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, request)
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  }
}
