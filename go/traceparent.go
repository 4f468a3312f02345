package causeway

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// tracedTransport adds the traceparent header to requests, for the spans of the API server.
type tracedTransport struct{ inner http.RoundTripper }

func (t tracedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if trace.SpanContextFromContext(request.Context()).IsValid() {
		request = request.Clone(request.Context())
		propagation.TraceContext{}.Inject(request.Context(), propagation.HeaderCarrier(request.Header))
	}
	return t.inner.RoundTrip(request)
}

// sendTraceparent replaces the transport of a shared client. Call it before the client is used.
func sendTraceparent(client *http.Client) {
	if client == nil {
		return
	}
	inner := client.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	client.Transport = tracedTransport{inner}
}
