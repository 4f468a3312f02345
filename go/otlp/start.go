// Package otlp sets up the SDK of OpenTelemetry for a controller that has no set-up of its own.
package otlp

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// How many spans, and how many mergelogs, wait while nobody takes them, and for how long they are tried again.
	mostWaiting = 10_000
	triedFor    = 10 * time.Minute
	firstPause  = time.Second
	longestWait = 30 * time.Second
	// For how long a process that ends waits for what is left to be taken.
	farewell = 5 * time.Second
)

// Start sends spans and mergelogs over OTLP/HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318, in the name of a
// service unless OTEL_SERVICE_NAME says otherwise. What it returns sends the rest, for five seconds at most, and says how much was lost:
// call it before the process ends. The metric cpid.instrumentation.lost_items counts that while the process runs.
func Start(ctx context.Context, service string) (func(context.Context) error, error) {
	described, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: firstPause, MaxInterval: longestWait, MaxElapsedTime: triedFor,
	}))
	if err != nil {
		return nil, err
	}
	records, err := otlploghttp.New(ctx, otlploghttp.WithRetry(otlploghttp.RetryConfig{
		Enabled: true, InitialInterval: firstPause, MaxInterval: longestWait, MaxElapsedTime: triedFor,
	}))
	if err != nil {
		return nil, err
	}
	lostSpans, lostRecords := newLosses("spans"), newLosses("mergelogs")
	countLosses(lostSpans, lostRecords)
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(described), sdktrace.WithSpanProcessor(countedSpans{
		sdktrace.NewBatchSpanProcessor(patientSpans{spans, lostSpans},
			sdktrace.WithMaxQueueSize(mostWaiting), sdktrace.WithExportTimeout(triedFor)), lostSpans}))
	loggers := sdklog.NewLoggerProvider(sdklog.WithResource(described), sdklog.WithProcessor(countedRecords{
		sdklog.NewBatchProcessor(patientRecords{records, lostRecords},
			sdklog.WithMaxQueueSize(mostWaiting), sdklog.WithExportTimeout(triedFor)), lostRecords}))
	otel.SetTracerProvider(tracers)
	otel.SetLoggerProvider(loggers)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, farewell)
		defer cancel()
		ended := make(chan error)
		go func() { ended <- loggers.Shutdown(ctx) }()
		err := errors.Join(tracers.Shutdown(ctx), <-ended)
		return errors.Join(err, lostSpans.end(), lostRecords.end())
	}, nil
}
