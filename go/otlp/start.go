// Package otlp sets up the OpenTelemetry SDK for a controller without a setup of its own.
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
	// The queue length for spans and for mergelogs, and how long an export is retried.
	mostWaiting = 10_000
	triedFor    = 10 * time.Minute
	firstPause  = time.Second
	longestWait = 30 * time.Second
	// How long the shutdown waits for the last export.
	farewell = 5 * time.Second
)

// Start sends spans and mergelogs over OTLP/HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318, with this
// service.name unless OTEL_SERVICE_NAME is set. The returned function sends the rest, within five seconds, and returns an error with the
// losses; call it before the process ends. The metric cpid.instrumentation.lost_items counts losses while the process runs.
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
