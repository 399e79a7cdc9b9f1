SELECT count(*) FROM statement WHERE detail[1] = 'reject'
