package otlp

import (
	"context"
	"errors"
	"net/url"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The exporters retry what the other side refuses for now, but not a connection that fails, as while it restarts. These retry that too.
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
	for pause := firstPause; ; pause = min(2*pause, longestWait) {
		err := export()
		var unreachable *url.Error
		if !errors.As(err, &unreachable) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
