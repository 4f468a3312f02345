package otlp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The exporters retry temporary refusals, but not failed connections, as while the backend restarts, nor statuses that an operator can fix,
// as for an expired credential. These wrappers retry those too.
type (
	patientSpans struct {
		sdktrace.SpanExporter
		losses *losses
	}
	patientRecords struct {
		sdklog.Exporter
		losses *losses
	}
)

func (e patientSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := patiently(ctx, func() error { return e.SpanExporter.ExportSpans(ctx, spans) })
	e.losses.exported(len(spans), err)
	return err
}

func (e patientRecords) Export(ctx context.Context, records []sdklog.Record) error {
	err := patiently(ctx, func() error { return e.Exporter.Export(ctx, records) })
	e.losses.exported(len(records), err)
	return err
}

func patiently(ctx context.Context, export func() error) error {
	deadline := time.Now().Add(triedFor)
	isTold := false
	for pause := firstPause; ; pause = min(2*pause, longestWait) {
		err := export()
		var unreachable *url.Error
		isCurable := curable(err)
		if !isCurable && !errors.As(err, &unreachable) || time.Now().After(deadline) {
			return err
		}
		if isCurable && !isTold {
			isTold = true
			// Logged at the first failure, so that an operator can fix it in time.
			otel.Handle(err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// statusIn finds the HTTP status in the exporters' error text, which is its only place.
var statusIn = regexp.MustCompile(`failed to send (?:logs )?to \S+: (\d{3}) `)

// Statuses that an operator can fix, or that may go away. The exporters themselves retry 429, 502, 503 and 504.
var curableStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusProxyAuthRequired,
	http.StatusRequestTimeout, http.StatusTooEarly, http.StatusInternalServerError,
}

// curable reports whether a refusal may end, as when an operator corrects a credential or an address.
func curable(err error) bool {
	if err == nil {
		return false
	}
	found := statusIn.FindStringSubmatch(err.Error())
	if found == nil {
		return false
	}
	status, _ := strconv.Atoi(found[1])
	return slices.Contains(curableStatuses, status)
}
